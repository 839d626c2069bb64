import type { ArrivalRange } from '../../lake/intervals.ts';
import type { Model } from '../../lake/schema.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Table } from '../../ports/table/table.ts';
import { planOf } from '../runs/plan.ts';

/** A range of arrivals that an export ran before, in whole hours; a backfill rounds them to its export's interval. */
export interface NeededBackfill extends ArrivalRange {
  readonly export: string;
  readonly name: string;
}

/**
 * Returns the exports of the project that have run over these hours before, each with the hours: rows that came into
 * them since are delivered by a backfill only. To be read after the rows were committed: what an export plans from then
 * on sees them.
 */
export async function neededBackfills(
  table: Table,
  project: { readonly id: number; readonly organization_id: string },
  hours: Readonly<Record<Model, readonly ArrivalRange[]>>,
): Promise<NeededBackfill[]> {
  if (Object.values(hours).every((some) => some.length === 0)) return [];
  const all = await listAll(table, ranges.exportsOf(project.organization_id));
  const exports = all.filter(({ team_id, deleted_at }) => team_id === project.id && deleted_at === null);
  const plans = await table.many(exports.map(({ id }) => keys.plan(id)));
  return exports.flatMap(({ id, name, model }, n) => {
    const item = plans[n];
    if (item === undefined) return [];
    const { ran, active } = planOf(item);
    const exported = [...ran, ...active];
    return hours[model]
      .filter(({ from, to }) => exported.some((range) => range.from < to && range.to > from))
      .map((range) => ({ export: id, name, ...range }));
  });
}
