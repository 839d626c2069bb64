/** Fixes what a batch delivers: its intervals, the export's query as it is now, and the list of the lake's files. */
import { filesBetween, type LakeFile, rowsWithin } from '../../lake/catalog.ts';
import type { Context } from '../../ports/context.ts';
import { Damaged } from '../../ports/errors.ts';
import { fromJsonText } from '../../ports/table/json-text.ts';
import type { PlannedFile, RowQuery } from '../../warehouse/warehouse.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { RunItem } from '../records/runs/model.ts';
import type { Active } from './plan.ts';
import { attemptOf, intervalOf } from './run.ts';
import { type BatchInput, inputOf, keepInput, Unreadable } from './run-files.ts';

/**
 * Returns the input of a batch that was acquired, and fixes it when that has not been done: from then on every attempt
 * delivers the same rows. `known`: the lake's files of its range, if they are at hand. Throws `Permanent` when the
 * export's own query cannot be run, `Unreadable` when its input is damaged and an interval has begun.
 */
export async function inputFor(
  context: Context,
  item: BatchExportItem,
  mine: Active,
  runs: readonly RunItem[],
  known?: readonly LakeFile[],
): Promise<BatchInput> {
  const attempt = attemptOf(item.id, mine);
  const kept = await inputOf(context, attempt).catch((error: unknown) => {
    // No row was read yet: another list of files does as well.
    if (!(error instanceof Unreadable) || runs.some(({ status }) => status === 'Running')) throw error;
    context.log.error('the input of a batch is damaged and made anew', { attempt });
    return undefined;
  });
  if (kept !== undefined) return kept;
  const files = known ?? (await filesBetween(context.table, item.team_id, item.model, mine.from, mine.to));
  const turn = { organization: item.organization_id, isDelivery: true };
  const input: BatchInput = {
    attempt,
    exportId: item.id,
    organizationId: item.organization_id,
    teamId: item.team_id,
    model: item.model,
    query: { ...eventLists(item), ...(await context.compiler.selection(item, turn)) },
    files: files.map(planned),
    intervals: runs.map(intervalOf),
    leastRows: runs.map(intervalOf).map(({ start, end }) => (isFiltered(item) ? 0 : rowsWithin(files, start, end))),
    by: mine.by,
    runs: runs.map(({ id }) => id),
  };
  await keepInput(context, input);
  return input;
}

const planned = ({ path, bytes, sha256, min_arrival: from, max_arrival: to }: LakeFile): PlannedFile => ({
  path,
  bytes,
  ...(sha256 === undefined ? {} : { sha256 }),
  from,
  to,
});

/**
 * Returns an error of reading the rows, or `Unreadable` when it is of a file whose place another one has taken since the
 * input was fixed: a new list has its rows.
 */
export async function unlessReplaced({ table }: Context, input: BatchInput, error: unknown): Promise<unknown> {
  const file = error instanceof Damaged ? input.files.find(({ path }) => path === error.path) : undefined;
  if (file === undefined) return error;
  const files = await filesBetween(table, input.teamId, input.model, file.from, file.to + 1);
  if (files.some(({ path }) => path === file.path)) return error;
  return new Unreadable(`The file '${file.path}' was replaced since this run listed it.`, { cause: error });
}

/**
 * Throws `Unreadable` when the export is of another model now: where its rows go was changed for the rows of that one, which
 * the input of another run has.
 */
export function checkModel({ model }: BatchExportItem, input: BatchInput): void {
  if (model === input.model) return;
  throw new Unreadable(
    `The batch export was changed from the model '${input.model}' to '${model}' while this interval was on its way.`,
  );
}

/** Returns whether the export may leave out rows of its intervals: of persons only the newest are delivered. */
export function isFiltered(item: BatchExportItem): boolean {
  const { includeEvents, excludeEvents } = eventLists(item);
  const choices = [includeEvents, excludeEvents, item.hogql_query, item.filters ?? null];
  return item.model === 'persons' || choices.some((one) => one !== null);
}

/** Returns the lists of events in an export's config. They say nothing of persons; an empty list restricts nothing. */
function eventLists({ model, destination_config }: BatchExportItem): Pick<RowQuery, 'includeEvents' | 'excludeEvents'> {
  if (model === 'persons') return { includeEvents: null, excludeEvents: null };
  const { include_events, exclude_events } = fromJsonText(destination_config);
  return { includeEvents: namesIn(include_events), excludeEvents: namesIn(exclude_events) };
}

const namesIn = (list: unknown): string[] | null => (Array.isArray(list) && list.length > 0 ? list : null);
