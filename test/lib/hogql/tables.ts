/** Tables that tests of whole SELECTs read. */
import type { Type } from '../../../lib/hogql/expression.ts';
import { type CheckedSelect, checkedSelect, type Language } from '../../../lib/hogql/select/select.ts';
import { parser } from '../../support/parser.ts';

const table = (fields: Readonly<Record<string, readonly [column: string, type: Type]>>) =>
  new Map(Object.entries(fields).map(([name, [column, type]]) => [name, { column, type }]));

const TABLES: Language['tables'] = new Map([
  [
    'events',
    table({
      uuid: ['uuid', 'text'],
      event: ['event', 'text'],
      distinct_id: ['distinct_id', 'text'],
      properties: ['properties', 'json'],
      timestamp: ['timestamp_us', 'instant'],
      person_id: ['person_id', 'text'],
      person_properties: ['person_properties', 'json'],
      'person.id': ['person_id', 'text'],
      'person.properties': ['person_properties', 'json'],
    }),
  ],
  ['persons', table({ id: ['id', 'text'], properties: ['properties', 'json'], created_at: ['created_us', 'instant'] })],
]);

export const UTC: Language = { tables: TABLES, zone: 'UTC', weekStartDay: 0 };

/** Returns what a query over the tables is checked to. */
export const checked = async (text: string, language = UTC): Promise<CheckedSelect> =>
  checkedSelect(await parser.query(text), language);
