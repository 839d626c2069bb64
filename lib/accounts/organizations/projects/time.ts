/** What a project says of time, and of its own people: what answers about its events depend on. */
import { fromJsonText } from '../../../ports/table/json-text.ts';
import type { ProjectItem } from '../model.ts';

/** A project's zone, as IANA names it, the day that begins its weeks (0 is Sunday, 1 is Monday), and its test accounts. */
interface ProjectMoment {
  readonly timezone: string;
  readonly weekStartDay: 0 | 1;
  readonly testAccountFilters: readonly unknown[];
}

export const insightMoment = ({ timezone, week_start_day, test_account_filters }: ProjectItem): ProjectMoment => ({
  timezone: timezone ?? 'UTC',
  weekStartDay: week_start_day ?? 0,
  testAccountFilters: test_account_filters === undefined ? [] : fromJsonText(test_account_filters),
});
