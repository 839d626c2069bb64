import type { Schemas } from '../client/api.ts';
import { Label } from './label.tsx';

type Status = Schemas['BatchExportRun']['status'];

const COLORS: Readonly<Record<Status, string>> = {
  Starting: 'blue',
  Running: 'blue',
  Completed: 'green',
  Failed: 'red',
  FailedRetryable: 'orange',
  Cancelled: 'gray',
  Terminated: 'red',
  TimedOut: 'red',
};

export const STATUSES = Object.keys(COLORS) as Status[];

const NAMES: Readonly<Partial<Record<Status, string>>> = { FailedRetryable: 'Will be retried', TimedOut: 'Timed out' };

/** Returns what people call a state. */
export const statusName = (status: Status): string => NAMES[status] ?? status;

/** Shows the state of a run or a backfill. */
export function StatusBadge({ status }: { readonly status: Status }) {
  return <Label color={COLORS[status]}>{statusName(status)}</Label>;
}

/** Has something ended otherwise than it should? */
export const isFailed = (status: Status): boolean =>
  status === 'Failed' || status === 'FailedRetryable' || status === 'Terminated' || status === 'TimedOut';
