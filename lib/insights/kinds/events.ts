/** Single events, or groups of them, in columns that the caller writes. */
import * as z from 'zod';
import { SECOND_MS } from '../../basics/units.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { any, call, constant, field, list } from '../../hogql/write.ts';
import { text } from '../../http/fields.ts';
import type { Answer, Kind, World } from './kind.ts';
import { cellsOf } from './parts/cells.ts';
import { instantOf } from './parts/date-range.ts';
import { elementsOf } from './parts/elements.ts';
import {
  columnsOf,
  displayName,
  type ListedColumn,
  listed,
  listingMembers,
  objectOf,
  type SpecialColumns,
  tupleType,
} from './parts/listing.ts';
import { lacking } from './parts/members.ts';
import { propertyCondition, propertyFilters } from './parts/property-filters.ts';

const MAX_CONDITIONS = 20;
const MAX_EVENTS = 200;

/** Events of clocks that are a little fast are shown. */
const AHEAD_MS = 5 * SECOND_MS;

const EventsQuery = z.object({
  kind: z.literal('EventsQuery'),
  ...listingMembers(),
  where: z.array(text()).max(MAX_CONDITIONS).nullish(),
  event: z.string().nullish(),
  events: z.array(z.string()).max(MAX_EVENTS).nullish(),
  personId: text().nullish(),
  properties: propertyFilters(),
  fixedProperties: propertyFilters(),
  filterTestAccounts: z.boolean().nullish(),
  after: z.string().nullish(),
  before: z.string().nullish(),
  actionId: lacking('Actions are'),
  actionSteps: lacking('Actions are'),
  source: lacking('The events behind a number of an insight are'),
});
type EventsQuery = z.output<typeof EventsQuery>;

/** The members of `*`. */
const STAR = [
  'uuid',
  'event',
  'properties',
  'timestamp',
  'team_id',
  'distinct_id',
  'elements_chain',
  'created_at',
] as const;

function star(cells: readonly unknown[]): unknown {
  const named = Object.fromEntries(STAR.map((name, n) => [name, cells[n]]));
  const chain = named['elements_chain'] ?? '';
  return {
    ...named,
    properties: objectOf(named['properties']),
    elements_chain: chain,
    ...(typeof chain === 'string' && chain !== '' && { elements: elementsOf(chain) }),
  };
}

/** Columns that are no expressions; what stands after `--` is a title. */
const SPECIAL: SpecialColumns = {
  '*': { parts: STAR.map((name) => field(name)), type: tupleType, cell: star },
  person: {
    parts: [field('distinct_id'), field('person_id')],
    cell: ([distinct_id, person_id]) => ({ distinct_id, person_id }),
  },
  person_display_name: {
    parts: [displayName(field('distinct_id')), field('person_id'), field('distinct_id')],
    type: tupleType,
    cell: ([display_name, id, distinct_id]) => ({ display_name, id, distinct_id }),
  },
};

/** Returns an instant of the caller's as HogQL has it: to the microsecond where they told so many digits. */
function microsecondConstant(sent: string, instant: number): Syntax {
  const beyond = /[.,]\d{3}(\d{1,3})/.exec(sent)?.[1]?.padEnd(3, '0') ?? '000';
  const utc = new Date(Math.floor(instant)).toISOString().replace('T', ' ').replace('Z', beyond);
  return call('toDateTime64', constant(utc), constant(6), constant('UTC'));
}

async function answer(query: EventsQuery, world: World): Promise<Answer> {
  const columns = await columnsOf(query, ['*'], SPECIAL, world);
  const after = query.after || '-24h';
  const before = query.before || undefined;
  const to = before === undefined ? world.now + AHEAD_MS : instantOf(before, world, 'before');
  const from = after === 'all' ? undefined : instantOf(after, world, 'after');
  const names = [query.event ?? '', ...(query.events ?? [])].filter((name) => name !== '');
  const listing = {
    columns,
    from: 'events',
    values: {},
    conditions: [
      call('less', field('timestamp'), microsecondConstant(before ?? '', to)),
      ...(from === undefined ? [] : [call('greater', field('timestamp'), microsecondConstant(after, from))]),
      ...(names.length === 0 ? [] : [any(names.map((name) => call('equals', field('event'), constant(name))))]),
      ...(query.personId == null ? [] : [call('equals', field('person_id'), constant(query.personId))]),
      await propertyCondition(query, world),
      ...(await Promise.all((query.where ?? []).map((condition) => world.expression(condition)))),
    ],
    newest: 'timestamp',
    key: [field('uuid')],
    range: { from, to },
  };
  const answered = await listed(query, listing, world);
  return { ...answered, results: await withPersons(answered.results, columns, world) };
}

/** A query of HogQL may hold so many constants. */
const IDS_AT_ONCE = 1000;

/** Whose an event is, before it is known who that is. */
const ownerAt = (row: readonly unknown[], place: number) =>
  row[place] as { readonly distinct_id: string; readonly person_id: string };

/** Returns the rows with whom they belong to, as they are now, in the columns that are a person. */
async function withPersons(
  rows: readonly (readonly unknown[])[],
  columns: readonly ListedColumn[],
  world: World,
): Promise<readonly (readonly unknown[])[]> {
  const places = columns.flatMap(({ cell }, place) => (cell === SPECIAL['person']?.cell ? [place] : []));
  if (places.length === 0 || rows.length === 0) return rows;
  const ids = [...new Set(rows.flatMap((row) => places.map((place) => ownerAt(row, place).person_id)))];
  const persons = new Map<string, object>();
  for (let first = 0; first < ids.length; first += IDS_AT_ONCE) {
    const found = await world.rows({
      hogql: 'SELECT id, created_at, properties FROM persons WHERE id IN {ids}',
      values: { ids: list(ids.slice(first, first + IDS_AT_ONCE)) },
    });
    for (const [id, created_at, properties] of cellsOf(found, world.timezone)) {
      persons.set(String(id), { uuid: id, created_at, properties: objectOf(properties) });
    }
  }
  return rows.map((row) =>
    row.map((cell, place) => {
      if (!places.includes(place)) return cell;
      const { distinct_id, person_id } = ownerAt(row, place);
      return { ...persons.get(person_id), distinct_id };
    }),
  );
}

export const events: Kind<EventsQuery> = { name: 'EventsQuery', schema: EventsQuery, answer };
