import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../../lib/basics/units.ts';
import {
  addIntervals,
  bucketsOf,
  type Calendar,
  CompareFilter,
  DateRange,
  INTERVALS,
  type IntervalUnit,
  instantOf,
  previousOf,
  rangeOf,
  resolvedDateRange,
  startOfInterval,
} from '../../../../../lib/insights/kinds/parts/date-range.ts';
import { propertyRuns } from '../../../../support/property-runs.ts';

const calendar = (now: string, more: Partial<Calendar> = {}): Calendar => ({
  now: Date.parse(now),
  timezone: 'UTC',
  weekStartDay: 0,
  ...more,
});

const iso = (instant: number): string => new Date(instant).toISOString();

/** The range that `date_from` and `date_to` name, in UTC unless the calendar says so. */
function ends(
  sent: DateRange,
  { interval = 'day', at = calendar('2026-03-18T10:20:30.400Z') }: { interval?: IntervalUnit; at?: Calendar } = {},
) {
  const { from, to } = rangeOf(DateRange.parse(sent), interval, at);
  return [iso(from), iso(to)];
}

describe('The range of a query', () => {
  it('is by default today and the seven days before', () => {
    expect(ends({})).toEqual(['2026-03-11T00:00:00.000Z', '2026-03-18T23:59:59.999Z']);
    expect(ends({ date_from: '', date_to: null })).toEqual(ends({}));
    const at = calendar('2026-03-18T10:20:30Z');
    expect(bucketsOf(rangeOf(undefined, 'day', at), 'day', at)).toHaveLength(8);
  });

  it.each([
    ['-7d', '2026-03-11T00:00:00.000Z'],
    ['7d', '2026-03-11T00:00:00.000Z'],
    ['-1w', '2026-03-11T00:00:00.000Z'],
    ['-1m', '2026-02-18T00:00:00.000Z'],
    ['-1q', '2025-12-18T00:00:00.000Z'],
    ['-1y', '2025-03-18T00:00:00.000Z'],
    ['-24h', '2026-03-17T10:00:00.000Z'],
    ['-90M', '2026-03-18T08:50:00.000Z'],
    ['-90s', '2026-03-18T10:19:00.000Z'],
    ['dStart', '2026-03-18T00:00:00.000Z'],
    ['-0dStart', '2026-03-18T00:00:00.000Z'],
    ['wStart', '2026-03-15T00:00:00.000Z'],
    ['mStart', '2026-03-01T00:00:00.000Z'],
    ['qStart', '2026-01-01T00:00:00.000Z'],
    ['yStart', '2026-01-01T00:00:00.000Z'],
    ['-1dStart', '2026-03-17T00:00:00.000Z'],
    ['-1mStart', '2026-02-01T00:00:00.000Z'],
    ['-1mEnd', '2026-02-28T23:59:59.999Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-1-3', '2026-01-03T00:00:00.000Z'],
    ['2026-01-31T15:30:00', '2026-01-31T00:00:00.000Z'],
  ])('begins with %s at %s', (date_from, expected) => {
    expect(ends({ date_from })[0]).toBe(expected);
  });

  it.each([
    ['2026-03-10', 'day', '2026-03-10T23:59:59.999Z'],
    ['2026-03-10 15:30:00', 'day', '2026-03-10T23:59:59.999Z'],
    ['2026-03-10T15:30', 'hour', '2026-03-10T15:59:59.999Z'],
    ['2026-03-10T15:30', 'minute', '2026-03-10T15:30:59.999Z'],
    ['2026-03-10', 'hour', '2026-03-10T23:59:59.999Z'],
    ['2026-03-10T15:30:00+02:00', 'hour', '2026-03-10T13:59:59.999Z'],
    ['-1dEnd', 'day', '2026-03-17T23:59:59.999Z'],
    ['-1mEnd', 'day', '2026-02-28T23:59:59.999Z'],
    ['-1mEnd', 'hour', '2026-02-28T23:59:59.999Z'],
    ['-2d', 'month', '2026-03-16T23:59:59.999Z'],
    [undefined, 'week', '2026-03-18T23:59:59.999Z'],
    [undefined, 'hour', '2026-03-18T10:59:59.999Z'],
    [undefined, 'minute', '2026-03-18T10:20:59.999Z'],
  ] as const)('that is told to end at %s reaches, by %s, to %s', (date_to, interval, expected) => {
    expect(ends({ date_to }, { interval })[1]).toBe(expected);
  });

  it('begins where it is told, by minutes', () => {
    expect(ends({ date_from: '-1h' }, { interval: 'minute' })[0]).toBe('2026-03-18T09:20:00.000Z');
    expect(ends({ date_from: '-1h' }, { interval: 'hour' })[0]).toBe('2026-03-18T09:00:00.000Z');
    expect(ends({ date_from: '-2d' }, { interval: 'hour' })[0]).toBe('2026-03-16T00:00:00.000Z');
  });

  it('is taken as it is told where it is explicit', () => {
    const sent = { date_from: '2026-03-01T10:11:12', date_to: '2026-03-02T01:02:03.5', explicitDate: true };
    expect(ends(sent)).toEqual(['2026-03-01T10:11:12.000Z', '2026-03-02T01:02:03.500Z']);
    expect(ends({ date_from: '-1d', explicitDate: true })).toEqual([
      '2026-03-17T10:20:30.400Z',
      '2026-03-18T10:20:30.400Z',
    ]);
  });

  it('is made of dates that others read too', () => {
    const at = calendar('2026-03-18T10:20:30.400Z');
    expect(iso(instantOf('-24h', at, 'after'))).toBe('2026-03-17T10:20:30.400Z');
    expect(() => instantOf('soon', at, 'after')).toThrow('Use a date such as');
  });

  it('is told in the time of the project, unless it has an offset of its own', () => {
    const at = calendar('2026-03-18T20:00:00Z', { timezone: 'Asia/Tokyo' });
    const sent = { date_from: '2026-03-01', date_to: '2026-03-10T22:00:00Z' };
    expect(ends(sent, { at })).toEqual(['2026-02-28T15:00:00.000Z', '2026-03-11T14:59:59.999Z']);
    expect(resolvedDateRange(rangeOf({ date_from: 'dStart' }, 'day', at), at)).toEqual({
      date_from: '2026-03-19T00:00:00+09:00',
      date_to: '2026-03-19T23:59:59.999+09:00',
    });
  });

  it('of all time begins with the first event, but not before 1980', () => {
    const at = calendar('2026-03-18T10:20:30Z');
    const from = (earliest?: number) => iso(rangeOf({ date_from: 'all' }, 'day', at, earliest).from);
    expect(from(Date.parse('2015-05-17T10:05:03Z'))).toBe('2015-05-17T00:00:00.000Z');
    expect(from(Date.parse('1971-05-17T10:05:03Z'))).toBe('1980-01-01T00:00:00.000Z');
    expect(from()).toBe('2026-03-11T00:00:00.000Z');
  });

  it.each(['yesterday', '-7', 'd', '2026-02-30', '2026-13-01', '-7x', '2026-01-01T25:00', '-12345d'])(
    'refuses %s and says what to write',
    (date_from) => {
      const { error } = DateRange.safeParse({ date_from });
      expect(error?.issues[0]).toMatchObject({ path: ['date_from'], message: expect.stringMatching(/^Use a date/) });
    },
  );

  it('refuses what lies before all calendars, and more pieces than anybody looks at', () => {
    const at = calendar('2026-03-18T10:20:30Z');
    expect(() => rangeOf({ date_from: '-9999y' }, 'day', at)).toThrow('further back than the year 1');
    const range = rangeOf({ date_from: '-90d' }, 'minute', at);
    expect(() => bucketsOf(range, 'minute', at)).toThrow('more than 20000 intervals of a minute');
    const years = rangeOf({ date_from: '-3y' }, 'hour', at);
    expect(() => bucketsOf(years, 'hour', at)).toThrow('more than 20000 intervals of an hour');
    const most = { from: at.now, to: at.now + 19_999 * MINUTE_MS };
    expect(bucketsOf(most, 'minute', at)).toHaveLength(20_000);
    expect(() => bucketsOf({ ...most, to: most.to + MINUTE_MS }, 'minute', at)).toThrow('more than 20000');
  });
});

describe('The period before', () => {
  const before = (
    sent: DateRange,
    {
      interval = 'day',
      at = calendar('2026-03-24T10:20:30Z'),
      compareTo,
    }: { interval?: IntervalUnit; at?: Calendar; compareTo?: string } = {},
  ) => {
    const { from, to } = previousOf(rangeOf(sent, interval, at), sent, interval, at, compareTo);
    return [iso(from), iso(to)];
  };

  it('of some weeks and today are the same weekdays before, one day of them in both', () => {
    const week = ['2026-03-10T00:00:00.000Z', '2026-03-17T23:59:59.999Z'];
    for (const sent of [{ date_from: '-7d' }, { date_from: '-1w' }, {}]) expect(before(sent)).toEqual(week);
    expect(before({ date_from: '-14d' })[0]).toBe('2026-02-24T00:00:00.000Z');
  });

  it('of other days are as many days just before', () => {
    expect(before({ date_from: '2026-03-17', date_to: '2026-03-24' })).toEqual([
      '2026-03-09T00:00:00.000Z',
      '2026-03-16T23:59:59.999Z',
    ]);
    expect(before({ date_from: '-3d' })).toEqual(['2026-03-17T00:00:00.000Z', '2026-03-20T23:59:59.999Z']);
    for (const date_from of ['dStart', '-0d', '-0w'])
      expect(before({ date_from })).toEqual(['2026-03-23T00:00:00.000Z', '2026-03-23T23:59:59.999Z']);
  });

  it('of hours is the same hours of days before, of less than a day those of yesterday; of minutes what is just before', () => {
    expect(before({ date_from: '-2d' }, { interval: 'hour' })).toEqual([
      '2026-03-19T00:00:00.000Z',
      '2026-03-21T10:59:59.999Z',
    ]);
    for (const date_from of ['dStart', '-0d', '2026-03-24'])
      expect(before({ date_from }, { interval: 'hour' })).toEqual([
        '2026-03-23T00:00:00.000Z',
        '2026-03-23T10:59:59.999Z',
      ]);
    expect(before({ date_from: '-12h' }, { interval: 'hour' })).toEqual([
      '2026-03-22T22:00:00.000Z',
      '2026-03-23T10:59:59.999Z',
    ]);
    expect(before({ date_from: '-2h' }, { interval: 'hour' })).toEqual([
      '2026-03-23T08:00:00.000Z',
      '2026-03-23T10:59:59.999Z',
    ]);
    expect(before({ date_from: '-2h', explicitDate: true }, { interval: 'hour' })).toEqual([
      '2026-03-24T06:20:29.999Z',
      '2026-03-24T08:20:29.999Z',
    ]);
    expect(before({ date_from: '-2M' }, { interval: 'minute' })).toEqual([
      '2026-03-24T10:15:00.000Z',
      '2026-03-24T10:17:59.999Z',
    ]);
  });

  it('of hours counted back never overlaps it, whatever hour it is now', () => {
    const overlapping: string[] = [];
    for (const interval of ['hour', 'day', 'week'] as const)
      for (let hour = 0; hour < 24; hour++)
        for (let back = 1; back <= 72; back++) {
          const at = calendar(`2026-03-24T${String(hour).padStart(2, '0')}:30:00Z`);
          const sent = { date_from: `-${back}h` };
          const range = rangeOf(sent, interval, at);
          const { from, to } = previousOf(range, sent, interval, at);
          if (to >= range.from || to - from !== range.to - range.from)
            overlapping.push(`-${back}h by ${interval} at ${hour}:30`);
        }
    expect(overlapping).toEqual([]);
    const at = calendar('2026-03-24T20:30:00Z');
    expect(before({ date_from: '-3h' }, { at })).toEqual(['2026-03-23T17:00:00.000Z', '2026-03-23T23:59:59.999Z']);
  });

  it('is where compare_to puts it', () => {
    const { compare_to } = CompareFilter.parse({ compare_to: '-1m' });
    expect(before({ date_from: '2026-03-30', date_to: '2026-03-31' }, { compareTo: compare_to as string })).toEqual([
      '2026-02-28T00:00:00.000Z',
      '2026-03-01T23:59:59.999Z',
    ]);
    expect(CompareFilter.safeParse({ compare_to: 'last week' }).error?.issues[0]?.path).toEqual(['compare_to']);
  });

  it('is as long where the clock shows an earlier time at the end, within an hour that is told twice', () => {
    const at = calendar('2026-11-02T10:00:00Z', { timezone: 'America/New_York' });
    const sent = { date_from: '2026-11-01T01:30:00-04:00', date_to: '2026-11-01T01:29:59-05:00', explicitDate: true };
    expect(before(sent, { interval: 'hour', at, compareTo: '-1w' })).toEqual([
      '2026-10-25T05:30:00.000Z',
      '2026-10-25T06:29:59.000Z',
    ]);
  });

  it.each([
    ['01:30:00-04:00', '01:30:00-05:00', '05:30:00', '06:30:00'],
    ['01:30:00-04:00', '01:45:00-05:00', '05:30:00', '06:45:00'],
    ['01:30:00-04:00', '02:30:00-05:00', '05:30:00', '07:30:00'],
    ['00:30:00-04:00', '01:30:00-05:00', '04:30:00', '06:30:00'],
    // No end lies in it: these are the same times of the clock.
    ['00:30:00-04:00', '02:30:00-05:00', '04:30:00', '06:30:00'],
  ])('of exact ends is as long where one lies in an hour that is told twice: %s to %s', (start, end, from, to) => {
    const at = calendar('2026-11-02T10:00:00Z', { timezone: 'America/New_York' });
    const sent = { date_from: `2026-11-01T${start}`, date_to: `2026-11-01T${end}`, explicitDate: true };
    expect(before(sent, { interval: 'hour', at, compareTo: '-1w' })).toEqual([
      `2026-10-25T${from}.000Z`,
      `2026-10-25T${to}.000Z`,
    ]);
  });

  it.each([
    ['2026-11-02T01:30:00-05:00', '2026-11-02T02:29:59-05:00', '2026-11-01T05:30:00', '2026-11-01T06:29:59'],
    ['2026-03-09T02:30:00-04:00', '2026-03-09T03:20:00-04:00', '2026-03-08T07:30:00', '2026-03-08T08:20:00'],
    ['2026-03-09T02:10:00-04:00', '2026-03-09T03:10:00-04:00', '2026-03-08T07:10:00', '2026-03-08T08:10:00'],
  ])('of exact ends is as long where one of its own lies in an hour told twice or left out: %s', (...dates) => {
    const [date_from, date_to, from, to] = dates;
    const at = calendar('2026-11-03T10:00:00Z', { timezone: 'America/New_York' });
    const sent = { date_from, date_to, explicitDate: true };
    expect(before(sent, { interval: 'minute', at, compareTo: '-1d' })).toEqual([`${from}.000Z`, `${to}.000Z`]);
  });

  it('keeps the days whole where the clocks change between the two', () => {
    const at = calendar('2026-03-30T10:00:00Z', { timezone: 'Europe/Berlin' });
    expect(before({ date_from: '-1d' }, { at })).toEqual(['2026-03-26T23:00:00.000Z', '2026-03-28T22:59:59.999Z']);
  });

  it('keeps the hours of the clocks where they change between the two', () => {
    const today = (now: string) =>
      before({ date_from: 'dStart' }, { interval: 'hour', at: calendar(now, { timezone: 'Europe/Berlin' }) });
    // On the 29th of March, at 2 o'clock, it is 3; on the 25th of October, at 3, it is 2 again.
    expect(today('2026-03-29T10:20:00Z')).toEqual(['2026-03-27T23:00:00.000Z', '2026-03-28T11:59:59.999Z']);
    expect(today('2026-03-30T10:20:00Z')).toEqual(['2026-03-28T23:00:00.000Z', '2026-03-29T10:59:59.999Z']);
    expect(today('2026-03-30T00:20:00Z')).toEqual(['2026-03-28T23:00:00.000Z', '2026-03-29T01:59:59.999Z']);
    expect(today('2026-10-26T11:20:00Z')).toEqual(['2026-10-24T22:00:00.000Z', '2026-10-25T11:59:59.999Z']);
  });
});

describe('The pieces of a range', () => {
  const names = (sent: DateRange, interval: IntervalUnit, at = calendar('2026-03-18T10:20:30Z')) =>
    bucketsOf(rangeOf(sent, interval, at), interval, at).map(({ day, label }) => [day, label]);

  it('are named as PostHog names them', () => {
    expect(names({ date_from: '2020-01-09', date_to: '2020-01-10' }, 'day')).toEqual([
      ['2020-01-09', '9-Jan-2020'],
      ['2020-01-10', '10-Jan-2020'],
    ]);
    expect(names({ date_from: '2020-01-09T00:00', date_to: '2020-01-09T01:00' }, 'hour')).toEqual([
      ['2020-01-09 00:00:00', '9-Jan 00:00'],
      ['2020-01-09 01:00:00', '9-Jan 01:00'],
    ]);
    expect(names({ date_from: '2020-01-09T10:59', date_to: '2020-01-09T11:00' }, 'minute')).toEqual([
      ['2020-01-09 10:59:00', '9-Jan 10:59'],
      ['2020-01-09 11:00:00', '9-Jan 11:00'],
    ]);
    expect(names({ date_from: '2020-01-09', date_to: '2020-02-01' }, 'month')).toEqual([
      ['2020-01-01', 'Jan 2020'],
      ['2020-02-01', 'Feb 2020'],
    ]);
  });

  it('of weeks are named by those of their days that are in the range', () => {
    expect(names({ date_from: '2019-12-28', date_to: '2020-02-09' }, 'week')).toEqual([
      ['2019-12-22', '28-Dec-2019'],
      ['2019-12-29', '29-Dec-2019 – 4-Jan-2020'],
      ['2020-01-05', '5–11 Jan'],
      ['2020-01-12', '12–18 Jan'],
      ['2020-01-19', '19–25 Jan'],
      ['2020-01-26', '26-Jan – 1-Feb'],
      ['2020-02-02', '2–8 Feb'],
      ['2020-02-09', '9-Feb-2020'],
    ]);
    const fromMonday = calendar('2026-03-18T10:20:30Z', { weekStartDay: 1 });
    expect(names({ date_from: '2019-12-30', date_to: '2020-01-05' }, 'week', fromMonday)).toEqual([
      ['2019-12-30', '30-Dec-2019 – 5-Jan-2020'],
    ]);
  });

  it('have the hours that the clocks give them', () => {
    const at = calendar('2026-12-01T00:00:00Z', { timezone: 'Europe/Berlin' });
    const pieces = (day: string, interval: IntervalUnit) =>
      bucketsOf(rangeOf({ date_from: day, date_to: day }, interval, at), interval, at);
    expect(pieces('2026-03-29', 'day').map(({ start, end }) => (end - start) / HOUR_MS)).toEqual([23]);
    expect(pieces('2026-10-25', 'day').map(({ start, end }) => (end - start) / HOUR_MS)).toEqual([25]);
    expect(pieces('2026-03-29', 'hour').map(({ label }) => label.slice(-5))).not.toContain('02:00');
    const twice = pieces('2026-10-25', 'hour').filter(({ label }) => label === '25-Oct 02:00');
    expect(twice.map(({ start }) => iso(start))).toEqual(['2026-10-25T00:00:00.000Z', '2026-10-25T01:00:00.000Z']);
  });

  it('leave out a day that did not happen', () => {
    const at = calendar('2026-12-01T00:00:00Z', { timezone: 'Pacific/Apia' });
    const days = bucketsOf(rangeOf({ date_from: '2011-12-29', date_to: '2011-12-31' }, 'day', at), 'day', at);
    expect(days.map(({ end, start }) => (end - start) / DAY_MS)).toEqual([1, 1]);
  });

  it('are none of a range that ends before it begins', () => {
    expect(names({ date_from: '2020-01-09', date_to: '2020-01-07' }, 'day')).toEqual([]);
  });

  /** Of whole and half hours, whose clocks change at midnight too, and by half an hour. */
  const ZONES = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'America/Sao_Paulo',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
  ];
  const LENGTHS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 28 * DAY_MS };

  /** The local date and time of an instant, as `Intl` tells it, without Temporal. */
  function localTime(instant: number, timeZone: string): string {
    const parts = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
    return parts.format(instant);
  }

  /** The name of the piece that an instant lies in, by its local time alone. */
  function nameOf(instant: number, interval: IntervalUnit, { timezone, weekStartDay }: Calendar): string {
    const local = localTime(instant, timezone);
    if (interval === 'minute') return `${local.slice(0, 16)}:00`;
    if (interval === 'hour') return `${local.slice(0, 13)}:00:00`;
    if (interval === 'month') return `${local.slice(0, 7)}-01`;
    const day = Date.parse(`${local.slice(0, 10)}T00:00:00Z`);
    const since = interval === 'week' ? (new Date(day).getUTCDay() + 7 - weekStartDay) % 7 : 0;
    return iso(day - since * DAY_MS).slice(0, 10);
  }

  it('follow on one another, and each holds the instants of its name', () => {
    const interval = fc.constantFrom(...INTERVALS);
    const timezone = fc.constantFrom(...ZONES);
    const weekStartDay = fc.constantFrom<0 | 1>(0, 1);
    const around = fc.constantFrom('2018-02-17', '2018-11-03', '2026-03-07', '2026-03-28', '2026-04-04', '2026-10-24');
    const hours = fc.nat(60);
    fc.assert(
      fc.property(
        fc.record({ interval, timezone, weekStartDay, around, hours, count: fc.integer({ min: 1, max: 60 }) }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 5, maxLength: 20 }),
        ({ interval, timezone, weekStartDay, around, hours, count }, shares) => {
          const from = Date.parse(around) + hours * HOUR_MS;
          const range = { from, to: from + count * LENGTHS[interval] - 1 };
          const at = { now: from, timezone, weekStartDay };
          const pieces = bucketsOf(range, interval, at);
          expect(pieces[0]?.start).toBeLessThanOrEqual(range.from);
          expect(pieces.at(-1)?.end).toBeGreaterThan(range.to);
          expect(pieces.at(-1)?.start).toBeLessThanOrEqual(range.to);
          pieces.forEach(({ start, end }, n) => {
            expect(start).toBeLessThan(end);
            expect(pieces[n + 1]?.start ?? end).toBe(end);
            expect(startOfInterval(start, interval, at)).toBe(start);
            expect(startOfInterval(end - 1, interval, at)).toBe(start);
          });
          const instants = shares.map((share) => Math.floor(range.from + share * (range.to - range.from)));
          for (const instant of [...instants, ...pieces.flatMap(({ start, end }) => [start, end - 1])]) {
            const holders = pieces.filter(({ start, end }) => start <= instant && instant < end);
            expect(holders.map(({ day }) => day)).toEqual([nameOf(instant, interval, at)]);
          }
        },
      ),
      { numRuns: propertyRuns(150) },
    );
  });

  it('are counted from one to another', () => {
    const at = calendar('2026-03-18T10:20:30Z', { timezone: 'Europe/Berlin', weekStartDay: 1 });
    const start = startOfInterval(at.now, 'month', at);
    expect(iso(start)).toBe('2026-02-28T23:00:00.000Z');
    expect(iso(addIntervals(start, 1, 'month', at))).toBe('2026-03-31T22:00:00.000Z');
    expect(iso(addIntervals(start, -2, 'month', at))).toBe('2025-12-31T23:00:00.000Z');
  });
});
