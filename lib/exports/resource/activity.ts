/** The activity log's entries of exports and backfills. Of secrets they say only that they were sent. */
import type { Change } from '../../accounts/activity/model.ts';
import { changesOf, type LoggedFields, secretChanges } from '../../accounts/activity/rules.ts';
import type { Value } from '../../ports/table/table.ts';
import type { BatchExportItem } from '../records/model.ts';

/** Returns how an entry names an export. */
export const aboutExport = ({ id, name, team_id: project }: BatchExportItem) =>
  ({ scope: 'BatchExport', id, name, project }) as const;

/** Returns how an entry names a backfill of an export. */
export const aboutBackfill = ({ name, team_id: project }: BatchExportItem, id: string) =>
  ({ scope: 'BatchExportBackfill', id, name, project }) as const;

/** Returns how an entry names a run of an export. */
export const aboutRun = ({ name, team_id: project }: BatchExportItem, id: string) =>
  ({ scope: 'BatchExportRun', id, name, project }) as const;

const LOGGED_FIELDS: LoggedFields = {
  name: 'plain',
  model: 'plain',
  interval: 'plain',
  paused: 'plain',
  start_at: 'instant',
  end_at: 'instant',
  hogql_query: 'plain',
  filters: 'json',
  notify_host: 'plain',
};

const WEBHOOK_SECRETS = ['notify_url', 'notify_secret'];

/** Returns what a PATCH changes of an export. `secrets`: names of the secrets that it sends, whatever their values. */
export function exportChanges(
  before: BatchExportItem,
  set: Readonly<Record<string, Value | undefined>>,
  secrets: readonly string[],
): Change[] {
  return [
    ...changesOf(before, set, LOGGED_FIELDS),
    ...configChanges(before.destination_config, set['destination_config']),
    ...secretChanges([...secrets.map(within), ...WEBHOOK_SECRETS.filter((name) => Object.hasOwn(set, name))]),
  ];
}

const within = (name: string): string => `destination_config.${name}`;

function configChanges(before: string, after: unknown): Change[] {
  if (typeof after !== 'string') return [];
  const [was, is] = [JSON.parse(before), JSON.parse(after)] as Record<string, unknown>[];
  return Object.keys({ ...was, ...is }).flatMap((name): Change[] => {
    const [old = null, now = null] = [was?.[name], is?.[name]];
    const isSame = JSON.stringify(old) === JSON.stringify(now);
    return isSame ? [] : [{ action: 'changed', field: within(name), before: old, after: now }];
  });
}
