/** Persons: all of a project, or those behind a number of an insight, in columns that the caller writes. */
import * as z from 'zod';
import type { Syntax } from '../../hogql/syntax.ts';
import { any, call, constant, field } from '../../hogql/write.ts';
import { choice, integer } from '../../http/fields.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, Kind, Question, World } from './kind.ts';
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
import { personFilters, propertyCondition } from './parts/property-filters.ts';

/** What says of which number the persons are. */
const SOURCES = ['InsightActorsQuery', 'FunnelsActorsQuery', 'StickinessActorsQuery'] as const;

const Breakdown = z.union([z.string(), z.number(), z.array(z.union([z.string(), z.number()]))]);

const Source = z.object({
  kind: choice(SOURCES),
  source: z.looseObject({ kind: z.string() }),
  day: z.union([z.string(), z.number()]).nullish(),
  status: z.string().nullish(),
  interval: integer({ min: 0 }).nullish(),
  series: integer({ min: 0 }).nullish(),
  breakdown: Breakdown.nullish(),
  compare: choice(['current', 'previous']).nullish(),
  operator: choice(['gte', 'lte', 'exact']).nullish(),
  funnelStep: integer().nullish(),
  funnelStepBreakdown: Breakdown.nullish(),
  funnelTrendsEntrancePeriodStart: z.string().nullish(),
  funnelTrendsDropOff: z.boolean().nullish(),
  funnelCustomSteps: lacking('Custom steps are'),
  includeRecordings: lacking('Recordings are', false),
});
type Source = z.output<typeof Source>;

const ActorsQuery = z.object({
  kind: z.literal('ActorsQuery'),
  source: Source.nullish(),
  ...listingMembers(),
  search: z.string().nullish(),
  properties: personFilters(),
  fixedProperties: personFilters(),
});
type ActorsQuery = z.output<typeof ActorsQuery>;

/** Columns that are no expressions, and whom a row is about; what stands after `--` is a title. */
function specialColumns(id: Syntax): SpecialColumns {
  const person: Omit<ListedColumn, 'name'> = {
    parts: [id, ...['properties', 'is_identified', 'created_at', 'distinct_ids'].map((name) => field('person', name))],
    cell: ([id_, properties, is_identified, created_at, distinct_ids]) => ({
      id: id_,
      properties: objectOf(properties),
      is_identified: is_identified ?? false,
      created_at,
      distinct_ids: distinct_ids ?? [id_],
    }),
  };
  return {
    person,
    actor: person,
    id: { parts: [id] },
    'person.$delete': { parts: [constant(1)] },
    person_display_name: {
      parts: [displayName(id), id],
      type: tupleType,
      cell: ([display_name, id_]) => ({ display_name, id: id_ }),
    },
  };
}

/** Returns the condition of persons who are found by a text: by name, e-mail address, id or distinct_id. */
function searched(search: string, id: Syntax): Syntax {
  const holds = (value: Syntax): Syntax => call('ilike', value, constant(`%${search}%`));
  return any([
    ...['email', 'name'].map((name) => holds(call('toString', field('person', 'properties', name)))),
    holds(call('toString', id)),
    call(
      'arrayExists',
      { node: 'Lambda', args: ['known'], expr: holds(field('known')) },
      field('person', 'distinct_ids'),
    ),
  ]);
}

/** Returns the kind, given those whose numbers it knows. */
export function actorsOf(kinds: readonly Kind[]): Kind<ActorsQuery> {
  const byName = new Map<string, Kind>(kinds.map((kind) => [kind.name, kind]));

  async function questionOf(sent: Source, world: World): Promise<Question> {
    const { kind: _, source, ...selection } = sent;
    const kind = byName.get(source.kind);
    if (kind?.actors === undefined) {
      const able = [...byName.values()].flatMap((one) => (one.actors === undefined ? [] : [one.name]));
      return invalid('source__source__kind', `Persons are known behind these: ${able.toSorted().join(', ')}.`);
    }
    return kind.actors(readQuery(kind, source), withoutNulls(selection), world);
  }

  async function answer(query: ActorsQuery, world: World): Promise<Answer> {
    const source = query.source == null ? undefined : await questionOf(query.source, world);
    const id = source === undefined ? field('person', 'id') : field('source', 'actor_id');
    const columns = await columnsOf(query, ['person', 'id', 'person.$delete'], specialColumns(id), world);
    const search = query.search ?? '';
    const orderBy = query.orderBy?.map((order) => EMAIL_FOR.get(order) ?? order);
    const listing = {
      columns,
      from:
        source === undefined
          ? 'persons AS person'
          : `(${source.hogql}) AS source LEFT JOIN persons AS person ON person.id = source.actor_id`,
      values: source?.values ?? {},
      conditions: [await propertyCondition(query, world), ...(search === '' ? [] : [searched(search, id)])],
      newest: 'created_at',
      key: [id],
      range: { from: source?.from, to: source?.to },
    };
    return listed({ ...query, orderBy }, listing, world);
  }

  return { name: 'ActorsQuery', schema: ActorsQuery, answer };
}

/** Persons are ordered by their e-mail address. */
const EMAIL_FOR: ReadonlyMap<string, string> = new Map(
  ['', ' ASC', ' DESC'].map((direction) => [`person${direction}`, `person.properties.email${direction}`]),
);

function readQuery(kind: Kind, sent: unknown): unknown {
  const { success, data, error } = kind.schema.safeParse(sent);
  if (success) return data;
  const [issue] = error.issues;
  return invalid(
    ['source', 'source', ...(issue?.path ?? [])].join('__'),
    issue?.message ?? 'The query cannot be read.',
  );
}

const withoutNulls = <Values extends object>(values: Values): { [Key in keyof Values]: Exclude<Values[Key], null> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as never;
