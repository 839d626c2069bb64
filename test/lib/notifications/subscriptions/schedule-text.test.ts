import { type Schedule, WEEKDAYS } from '../../../../lib/notifications/subscriptions/model.ts';
import { scheduleText } from '../../../../lib/notifications/subscriptions/schedule-text.ts';

const DAILY: Schedule = {
  frequency: 'daily',
  interval: 1,
  byweekday: [],
  bysetpos: null,
  count: null,
  start_date: 0,
  until_date: null,
};

const rules: [Partial<Schedule>, string][] = [
  [{}, 'sent every day'],
  [{ frequency: 'weekly', interval: 2, byweekday: ['friday', 'monday'] }, 'sent every 2 weeks on Monday and Friday'],
  [{ frequency: 'monthly', byweekday: ['monday'], bysetpos: -1 }, 'sent every month on the last Monday'],
  [{ frequency: 'monthly', byweekday: ['monday'], bysetpos: -2 }, 'sent every month on the second to last Monday'],
  [{ frequency: 'monthly', byweekday: [...WEEKDAYS], bysetpos: -5 }, 'sent every month on the fifth to last day'],
  [{ frequency: 'monthly', byweekday: [...WEEKDAYS], bysetpos: 1 }, 'sent every month on the first day'],
  [{ frequency: 'yearly' }, 'sent every year'],
];

test.each(rules)('a rule in words', (rule, words) => {
  expect(scheduleText({ ...DAILY, ...rule })).toBe(words);
});
