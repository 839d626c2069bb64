/** Events and persons in the text format of COPY, as the warehouse gives them in a database's default columns. */

import { HOUR_MS } from '../../lib/basics/units.ts';
import type { Model } from '../../lib/lake/schema.ts';

const uuid = (n: number): string => `01890000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

/** Returns the fields of one event, which its number makes. */
function eventLine(n: number): string {
  const at = new Date(Date.UTC(2023, 6, 28) + (n % HOUR_MS)).toISOString().replace('Z', '000Z');
  const properties = JSON.stringify({ n, path: `/page/${n}\\`, text: 'tab\tand\nline' });
  return [
    uuid(n),
    n % 3 === 0 ? 'paid' : '$pageview',
    properties.replaceAll('\\', '\\\\'),
    '\\N',
    '{"plan":"pro"}',
    '\\N',
    `person-${n % 100}`,
    '1',
    '10.0.0.1',
    '',
    at,
    '\\N',
    '\\N',
  ].join('\t');
}

/** Lines of the events with these numbers, in chunks of a thousand. */
export async function* eventRows(from: number, count: number): AsyncGenerator<Buffer> {
  for (let n = from; n < from + count; n += 1000) {
    const lines = Array.from({ length: Math.min(1000, from + count - n) }, (_, k) => eventLine(n + k));
    yield Buffer.from(`${lines.join('\n')}\n`);
  }
}

export interface PersonRow {
  readonly distinct_id: string;
  readonly person_version: number;
  readonly mapping_version: number;
  readonly name?: string;
  readonly is_deleted?: boolean;
}

/** Lines of persons of project 1. */
export async function* personRows(rows: readonly PersonRow[]): AsyncGenerator<Buffer> {
  for (const { distinct_id, person_version, mapping_version, name = 'Ada', is_deleted = false } of rows) {
    const values = ['1', distinct_id, uuid(1), JSON.stringify({ name }), mapping_version, person_version];
    yield Buffer.from(`${[...values, '2023-07-28T00:00:00.000001Z', is_deleted ? 't' : 'f'].join('\t')}\n`);
  }
}

/** So many rows of a model: the events from 0, or that many persons of version 2. */
export function copyRows(model: Model, count: number): AsyncGenerator<Buffer> {
  if (model === 'events') return eventRows(0, count);
  const versions = { person_version: 2, mapping_version: 2 };
  return personRows(Array.from({ length: count }, (_, n) => ({ distinct_id: `person-${n}`, ...versions })));
}
