import { readFile } from 'node:fs/promises';
import type { Interval } from '../../lib/lake/intervals.ts';
import type { Form, FrozenPlan, Warehouse } from '../../lib/warehouse/warehouse.ts';

const never = new AbortController().signal;

/** Returns what a warehouse makes of an interval's rows: pieces of lines, or the bytes of each file. */
export async function formed(
  warehouse: Pick<Warehouse, 'read' | 'files'>,
  plan: FrozenPlan,
  interval: Interval,
  form: Form,
): Promise<Buffer[]> {
  const all: Buffer[] = [];
  if (form.format !== 'Parquet') {
    for await (const piece of warehouse.read(plan, interval, form, never)) all.push(piece);
    return all;
  }
  for await (const { path } of warehouse.files(plan, interval, form, never)) all.push(await readFile(path));
  return all;
}
