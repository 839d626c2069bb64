/** The tables of insights: which fields each has, and what its rows are over the lake's files, in both dialects. */
import { type Dialect, print } from '../../hogql/print.ts';
import { columnText } from '../../hogql/print-select.ts';
import type { TableFields } from '../../hogql/select/whole.ts';

/** What the dialects write differently of tables. */
export interface TableDialect {
  /** The value of `of` where `by` is least, or greatest, of the rows that have it. */
  readonly argMin: (of: string, by: string) => string;
  readonly argMax: (of: string, by: string) => string;
  readonly sortedList: (of: string) => string;
  /** Division of integers. */
  readonly slash: string;
  /** What `properties.<property>` is of a document. */
  readonly property: (document: string, property: string) => string;
}

/** Returns the `property` of a dialect of expressions. */
export const propertyBy =
  (dialect: Dialect) =>
  (document: string, property: string): string =>
    print(
      {
        operator: 'property_value',
        of: [{ column: document, type: 'json' }],
        with: { path: [property] },
        type: 'text',
      },
      dialect,
      '',
    );

/** SQL of the rows of each source that a relation is made of; persons and their ties are read once for all relations. */
export interface Sources {
  /** Rows of the files of events with these columns, those of properties in `hot` among them. */
  readonly events: (columns: ReadonlySet<string>) => string;
  /** The column of a property that has one of its own in some of the files; undefined: it has none. */
  readonly columnOf: (property: string) => string | undefined;
  /** A row for each distinct_id that somebody has: `distinct_id, person_id, person_created_us`. */
  readonly ties: string;
  /** SQL of the person that a tie tells (null: there is none), else of the one whose id is the text. Default: its text. */
  readonly personOf?: ((tied: string, own: string) => string) | undefined;
  /** A row for each person that is there: `person_id, created_us, properties, is_identified, distinct_ids`. */
  readonly persons: string;
}

interface Field {
  readonly column: string;
  readonly type: 'text' | 'json' | 'integer' | 'float' | 'boolean' | 'instant' | 'texts';
  readonly clickhouse?: string;
}

interface SessionField extends Field {
  /** SQL of its value, an aggregate over the events of a session. */
  readonly aggregate: (dialect: TableDialect) => string;
}

const UUID = 'UUID';

const CAMPAIGN_PROPERTIES = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'];

/** Columns of events that are the text of a property. */
const TEXTS: ReadonlyMap<string, string> = new Map([
  ['session_id', '$session_id'],
  ['url', '$current_url'],
  ['host', '$host'],
  ['path', '$pathname'],
  ['referrer', '$referring_domain'],
  ...CAMPAIGN_PROPERTIES.map((property): [string, string] => [property, property]),
]);

type OfSession = SessionField['aggregate'];
const first =
  (column: string): OfSession =>
  ({ argMin }) =>
    argMin(column, 'timestamp_us');
const last =
  (column: string): OfSession =>
  ({ argMax }) =>
    argMax(column, 'timestamp_us');

const counted = (column: string, event: string): SessionField => ({
  column,
  type: 'integer',
  clickhouse: 'UInt64',
  aggregate: () => `count(*) FILTER (WHERE event = '${event}')`,
});

/** A session is what events of one `$session_id` say of it. */
const SESSION_FIELDS: Readonly<Record<string, SessionField>> = {
  distinct_id: { column: 'session_distinct_id', type: 'text', aggregate: first('distinct_id') },
  person_id: { column: 'session_person_id', type: 'text', clickhouse: UUID, aggregate: first('person_id') },
  $start_timestamp: { column: 'session_start_us', type: 'instant', aggregate: () => 'min(timestamp_us)' },
  $end_timestamp: { column: 'session_end_us', type: 'instant', aggregate: () => 'max(timestamp_us)' },
  $session_duration: {
    column: 'session_seconds',
    type: 'integer',
    // The seconds that the clock passes, as `dateDiff('second', …)` counts them.
    aggregate: ({ slash }) => `max(timestamp_us) ${slash} 1000000 - min(timestamp_us) ${slash} 1000000`,
  },
  $entry_current_url: { column: 'session_entry_url', type: 'text', aggregate: first('url') },
  $end_current_url: { column: 'session_end_url', type: 'text', aggregate: last('url') },
  $exit_current_url: { column: 'session_exit_url', type: 'text', aggregate: last('url') },
  $entry_hostname: { column: 'session_entry_host', type: 'text', aggregate: first('host') },
  $entry_pathname: { column: 'session_entry_path', type: 'text', aggregate: first('path') },
  $end_pathname: { column: 'session_end_path', type: 'text', aggregate: last('path') },
  $exit_pathname: { column: 'session_exit_path', type: 'text', aggregate: last('path') },
  $entry_referring_domain: { column: 'session_entry_referrer', type: 'text', aggregate: first('referrer') },
  ...Object.fromEntries(
    CAMPAIGN_PROPERTIES.map((property): [string, SessionField] => [
      `$entry_${property}`,
      { column: `session_entry_${property}`, type: 'text', aggregate: first(property) },
    ]),
  ),
  $num_uniq_urls: {
    column: 'session_urls',
    type: 'integer',
    clickhouse: 'UInt64',
    aggregate: () => 'count(DISTINCT url)',
  },
  $pageview_count: counted('session_pageviews', '$pageview'),
  $screen_count: counted('session_screens', '$screen'),
  $autocapture_count: counted('session_autocaptures', '$autocapture'),
};

const SESSION_ID: Field = { column: 'session_id', type: 'text' };

const EVENT_FIELDS: Readonly<Record<string, Field>> = {
  uuid: { column: 'uuid', type: 'text', clickhouse: UUID },
  event: { column: 'event', type: 'text', clickhouse: 'String' },
  distinct_id: { column: 'distinct_id', type: 'text', clickhouse: 'String' },
  team_id: { column: 'team_id', type: 'integer', clickhouse: 'Int32' },
  properties: { column: 'properties', type: 'json' },
  timestamp: { column: 'timestamp_us', type: 'instant' },
  created_at: { column: 'created_us', type: 'instant' },
  elements_chain: { column: 'elements_chain', type: 'text' },
  person_id: { column: 'person_id', type: 'text', clickhouse: UUID },
  'person.id': { column: 'person_id', type: 'text', clickhouse: UUID },
  person_properties: { column: 'person_properties', type: 'json' },
  'person.properties': { column: 'person_properties', type: 'json' },
  'person.created_at': { column: 'person_created_us', type: 'instant' },
  $session_id: SESSION_ID,
  'session.id': SESSION_ID,
  'session.session_id': SESSION_ID,
  ...Object.fromEntries(Object.entries(SESSION_FIELDS).map(([name, field]) => [`session.${name}`, field])),
};

const PERSON_FIELDS: Readonly<Record<string, Field>> = {
  id: { column: 'person_id', type: 'text', clickhouse: UUID },
  created_at: { column: 'created_us', type: 'instant' },
  properties: { column: 'properties', type: 'json' },
  is_identified: { column: 'is_identified', type: 'boolean' },
  distinct_ids: { column: 'distinct_ids', type: 'texts' },
};

const DISTINCT_ID_FIELDS: Readonly<Record<string, Field>> = {
  distinct_id: { column: 'distinct_id', type: 'text', clickhouse: 'String' },
  person_id: { column: 'person_id', type: 'text', clickhouse: UUID },
};

const tableOf = (fields: Readonly<Record<string, Field>>): TableFields => new Map(Object.entries(fields));

/** What a query of an insight may select from. */
export const INSIGHT_TABLES: ReadonlyMap<string, TableFields> = new Map([
  ['events', tableOf(EVENT_FIELDS)],
  ['persons', tableOf(PERSON_FIELDS)],
  ['person_distinct_ids', tableOf(DISTINCT_ID_FIELDS)],
  ['sessions', tableOf({ session_id: SESSION_ID, id: SESSION_ID, ...SESSION_FIELDS })],
]);

/** Are the rows of a table persons, or what they have, whatever the events? */
const isOfPersons = (table: string): boolean => table === 'persons' || table === 'person_distinct_ids';

/** Does it need events? */
export const readsEvents = (table: string): boolean => !isOfPersons(table);

/** Columns of events and sessions that go by whose a distinct_id is. */
const TIED = ['person_id', 'person_created_us', 'person_properties', 'session_person_id'];

/** Does one of these tables and columns need to know whose a distinct_id is? */
export const readsTies = (table: string, columns: ReadonlySet<string>): boolean =>
  !isOfPersons(table) && TIED.some((column) => columns.has(column));

/** Does it need of persons nothing but which an event is of? */
export const readsOnlyPersonIds = (table: string, columns: ReadonlySet<string>): boolean =>
  table === 'events' && TIED.every((column) => column === 'person_id' || !columns.has(column));

/** Does one of these tables and columns need to know what persons are like? */
export const readsPersons = (table: string, columns: ReadonlySet<string>): boolean =>
  isOfPersons(table) || columns.has('person_properties');

const sessionColumns = new Map(Object.values(SESSION_FIELDS).map(({ column, aggregate }) => [column, aggregate]));

/** Does it need the sessions of events? Of an event that is read they may have begun before, and end after it. */
export const readsSessions = (table: string, columns: ReadonlySet<string>): boolean =>
  table === 'sessions' || [...columns].some((column) => sessionColumns.has(column));

/**
 * Returns SQL, which may stand after FROM, of a table's rows with these columns. What is not asked for is neither read
 * nor joined. Whose a distinct_id is, its newest tie says, for events from before the tie too; who has no person goes
 * by the id that the event carries, else by their distinct_id. The properties of its person are those that an event
 * carries, which imported ones may; of one that carries none, those that the person has now.
 */
export function relation(table: string, columns: ReadonlySet<string>, sources: Sources, dialect: TableDialect): string {
  if (table === 'persons') return `(SELECT ${listed([...columns])} FROM ${sources.persons})`;
  if (table === 'person_distinct_ids')
    return `(SELECT ${listed([...columns])} FROM ${sources.persons} AS people
      CROSS JOIN UNNEST(people.distinct_ids) AS theirs(distinct_id))`;
  if (table === 'sessions') return `(${sessions(columns, sources, dialect)})`;
  const ofSessions = [...columns].filter((column) => sessionColumns.has(column));
  if (ofSessions.length === 0) return `(${events(columns, sources, dialect)})`;
  const own = new Set([...columns, 'session_id'].filter((column) => !sessionColumns.has(column)));
  return `(SELECT ${listed([...columns])} FROM (${events(own, sources, dialect)})
    LEFT JOIN (${sessions(new Set(['session_id', ...ofSessions]), sources, dialect)}) USING (session_id))`;
}

/** Both dialects want a column; a query that only counts asks for none. */
const listed = (columns: readonly string[]): string =>
  columns.length === 0 ? '1 AS nothing' : columns.map(columnText).join(', ');

/** Returns SQL of the person whom an event tells itself, where nobody is known to have its distinct_id. */
export const ownPerson = (column: (name: string) => string): string =>
  `coalesce(${column('person_id')}, ${column('distinct_id')})`;

const textOfPerson = (tied: string, own: string): string => `coalesce(${tied}, ${own})`;

function events(
  columns: ReadonlySet<string>,
  { events: rowsWith, columnOf, ties, personOf = textOfPerson, persons }: Sources,
  dialect: TableDialect,
): string {
  const isTied = readsTies('events', columns);
  const read = new Set(isTied ? ['distinct_id'] : []);
  const lake = (column: string): string => {
    read.add(column);
    return `lake.${columnText(column)}`;
  };
  const textOf = (property: string): string => {
    const column = columnOf(property);
    return column === undefined ? dialect.property(lake('properties'), property) : lake(column);
  };
  const values = [...columns].map((column) => {
    if (column === 'person_id') return `${personOf('ties.person_id', ownPerson(lake))} AS person_id`;
    if (column === 'person_created_us') return 'ties.person_created_us';
    if (column === 'person_properties') return `coalesce(${lake(column)}, people.properties) AS person_properties`;
    if (column === 'session_id') return `nullif(${textOf('$session_id')}, '') AS session_id`;
    const property = TEXTS.get(column);
    return property === undefined ? lake(column) : `${textOf(property)} AS ${column}`;
  });
  const text = values.length === 0 ? '1 AS nothing' : values.join(', ');
  const tied = isTied ? `LEFT JOIN ${ties} AS ties ON lake.distinct_id = ties.distinct_id` : '';
  const known = readsPersons('events', columns)
    ? `LEFT JOIN ${persons} AS people ON ties.person_id = people.person_id`
    : '';
  return `SELECT ${text} FROM ${rowsWith(read)} AS lake ${tied} ${known}`;
}

function sessions(columns: ReadonlySet<string>, sources: Sources, dialect: TableDialect): string {
  const asked = [...columns].filter((column) => column !== 'session_id');
  const aggregates = asked.map((column) => `${sessionColumns.get(column)?.(dialect) ?? column} AS ${column}`);
  const text = aggregates.join(' ');
  const needed = ['event', 'distinct_id', 'person_id', 'timestamp_us', ...TEXTS.keys()].filter((column) =>
    new RegExp(`\\b${column}\\b`).test(text),
  );
  return `SELECT ${['session_id', ...aggregates].join(', ')}
    FROM (${events(new Set(['session_id', ...needed]), sources, dialect)}) WHERE session_id IS NOT NULL GROUP BY session_id`;
}

/** Returns SQL of the ties that rows of persons tell: of each distinct_id the newest. */
export const tiesOfPersons = (rows: string, { argMax }: TableDialect): string =>
  `SELECT distinct_id, ${argMax('person_id', 'inserted_us')} AS person_id,
    ${argMax('created_us', 'inserted_us')} AS person_created_us
  FROM ${rows} GROUP BY distinct_id`;

/** Returns SQL, to stand after FROM, of the persons that are there. What is not read of it, engines leave out. */
export function personsOf(rows: string, { argMax, sortedList }: TableDialect): string {
  const newest = (value: string): string => argMax(value, 'inserted_us');
  return `(SELECT person_id, min(created_us) AS created_us, ${argMax('properties', 'person_version')} AS properties,
      bool_or(is_identified) AS is_identified, ${sortedList('distinct_id')} AS distinct_ids
    FROM (
      SELECT distinct_id, ${newest('person_id')} AS person_id, ${newest('created_us')} AS created_us,
        ${newest('properties')} AS properties, ${newest('person_version')} AS person_version,
        ${newest('coalesce(is_identified, false)')} AS is_identified, ${newest('is_deleted')} AS is_deleted
      FROM ${rows} GROUP BY distinct_id
    ) WHERE NOT is_deleted GROUP BY person_id)`;
}
