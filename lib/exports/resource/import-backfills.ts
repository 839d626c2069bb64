import type { ArrivalHours, ArrivalRange } from '../../lake/intervals.ts';
import type { Model } from '../../lake/schema.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { picked } from '../../ports/table/list-all.ts';
import type { Table } from '../../ports/table/table.ts';
import type { BatchExportItem } from '../records/model.ts';
import { planOf } from '../runs/plan.ts';

/**
 * A range of arrivals that an export's schedule has run or passed over, in whole hours; a backfill rounds them to its
 * export's interval.
 */
export interface NeededBackfill extends ArrivalRange {
  readonly export: string;
  readonly name: string;
}

/** So many ranges are told at most, of all exports together, as long as each has one: they are kept with the import. */
const MOST_RANGES = 200;

interface ProjectPlace {
  readonly id: number;
  readonly organization_id: string;
}

const liveExports = (
  table: Table,
  { id: project, organization_id }: ProjectPlace,
): Promise<Pick<BatchExportItem, 'id' | 'name' | 'model'>[]> =>
  picked(table, ranges.exportsOf(organization_id), ({ id, name, model, team_id, deleted_at }) =>
    team_id === project && deleted_at === null ? { id, name, model } : undefined,
  );

/** Returns whether the project has an export. */
export const hasLiveExports = async (table: Table, project: ProjectPlace): Promise<boolean> =>
  (await liveExports(table, project)).length > 0;

/**
 * Returns the exports of the project, each with those of these hours that its schedule has behind it: rows that came into
 * them since are delivered by a backfill only. Where they are very many, those that lie nearest are told as one. To be
 * read after the rows were committed: what an export plans from then on sees them.
 */
export async function neededBackfills(
  table: Table,
  project: ProjectPlace,
  hours: Readonly<Record<Model, readonly ArrivalHours[]>>,
): Promise<NeededBackfill[]> {
  if (Object.values(hours).every((some) => some.length === 0)) return [];
  const exports = await liveExports(table, project);
  const plans = await table.many(exports.map(({ id }) => keys.plan(id)));
  return exports.flatMap(({ id, name, model }, n) => {
    const item = plans[n];
    if (item === undefined) return [];
    const { next, active } = planOf(item);
    const end = Math.max(next, ...active.map(({ to }) => to));
    // An hour that goes on may have been passed up to the first of its rows.
    const passed = hours[model].filter(({ from, first = from }) => first < end);
    const most = Math.max(1, Math.floor(MOST_RANGES / exports.length));
    return joined(passed, most).map(({ from, to }) => ({ export: id, name, from, to: Math.min(to, end) }));
  });
}

/** Returns ranges that come in order, so many at most: cut where they lie furthest apart. */
function joined(ranges: readonly ArrivalRange[], most: number): readonly ArrivalRange[] {
  if (ranges.length <= most) return ranges;
  const gaps = ranges.slice(1).map(({ from }, n) => ({ before: n + 1, length: from - (ranges[n]?.to ?? 0) }));
  const cuts = gaps.toSorted((a, b) => b.length - a.length).slice(0, most - 1);
  const firsts = [0, ...cuts.map(({ before }) => before).toSorted((a, b) => a - b)];
  return firsts.map((first, n) => ({
    from: ranges[first]?.from ?? 0,
    to: ranges[(firsts[n + 1] ?? ranges.length) - 1]?.to ?? 0,
  }));
}
