/**
 * Answers over Athena. A question becomes SQL of Trino over the Glue tables of the lake; whoever may ask Athena has it
 * answered, and the query is computed again with the rows of all questions so far.
 */
import { elementType, isList, isTuple, partTypes, type Tuple, type Type } from '../../hogql/expression.ts';
import type { Parser } from '../../hogql/parse.ts';
import { TRINO } from '../../hogql/trino.ts';
import { trinoSelect } from '../../hogql/trino-select.ts';
import { inFilesAt, inFilesNamed } from '../../lake/athena-files.ts';
import { LAKE_MODELS, type Model } from '../../lake/schema.ts';
import { invalid } from '../../ports/errors.ts';
import type { TextRow } from '../../ports/queries/athena.ts';
import { type AnswerInput, type ComputedAnswer, computed } from './answerer.ts';
import { type CheckedQuestion, lookingWorlds, type WorldFile } from './looking-world.ts';
import { checkSize } from './read-bytes.ts';
import { personsOf, propertyBy, relation, type TableDialect, tiesOfPersons } from './tables.ts';

/** Where Athena finds the lake. */
export interface AthenaLake {
  /** Its tables have the names of the lake's models. */
  readonly database: string;
  /** What stands before a file's path: `s3://bucket/`. */
  readonly address: string;
}

/** A query, how much may be read for its answer, and the rows that are known. Plain JSON. */
export interface AnswerOfAthena extends AnswerInput {
  readonly lake: AthenaLake;
  readonly mostBytes: number;
  readonly given: readonly { readonly sql: string; readonly rows: readonly TextRow[] }[];
}

/** Plain JSON; `wanted` is the SQL whose rows are to be given next. */
export type AnsweredOfAthena = { readonly answered: ComputedAnswer } | { readonly wanted: string };

/** The rows of this SQL are not known. */
class Wanted extends Error {
  readonly sql: string;
  constructor(sql: string) {
    super('the rows of a question are wanted');
    this.sql = sql;
  }
}

/** Returns what computes answers of rows that are given, or tells which are wanted next. */
export function athenaAnswers(parser?: Parser): (asked: AnswerOfAthena) => Promise<AnsweredOfAthena> {
  const lookingWorld = lookingWorlds(parser);
  return async ({ lake, mostBytes, given, ...asked }) => {
    const known = new Map(given.map(({ sql, rows }) => [sql, rows]));
    const read = new Map<string, WorldFile>();
    const answer = (question: CheckedQuestion): unknown[][] => {
      for (const file of question.reads) read.set(file.path, file);
      checkSize([...read.values()], { mostBytes, mostLater: mostBytes, isBackground: true });
      const sql = athenaSql(question, lake);
      const rows = known.get(sql);
      if (rows === undefined) throw new Wanted(sql);
      const readers = question.checked.columns.map(({ type }) => readerOf(type));
      return rows.map((row) => row.map((value, n) => (value === null ? null : readers[n]?.(value))));
    };
    try {
      const worlds: Parameters<typeof computed>[0] = {
        world: (files, moment) => lookingWorld(files, moment, async (question) => answer(question)),
      };
      return { answered: await computed(worlds, asked) };
    } catch (error) {
      if (!(error instanceof Wanted)) throw error;
      return { wanted: error.sql };
    }
  };
}

const TRINO_TABLES: TableDialect = {
  argMin: (of, by) => `min_by(${of}, ${by}) FILTER (WHERE ${of} IS NOT NULL)`,
  argMax: (of, by) => `max_by(${of}, ${by}) FILTER (WHERE ${of} IS NOT NULL)`,
  sortedList: (of) => `array_agg(${of} ORDER BY ${of})`,
  slash: '/',
  property: propertyBy(TRINO),
};

/** Athena takes no longer text. https://docs.aws.amazon.com/athena/latest/ug/service-limits.html */
const MAX_SQL_BYTES = 262_144;

/** Returns the SQL of a question. Throws a 400 when it names more files than a query may. */
function athenaSql(question: CheckedQuestion, lake: AthenaLake): string {
  const { checked, at, isTied, hasPersons, hasEvents, events, persons } = question;
  const sources = {
    events: () => 'lake_events',
    // Columns of hot properties have names that Glue's tables cannot promise to Athena: values come out of `properties`.
    columnOf: () => undefined,
    ties: 'lake_ties',
    persons: 'lake_people',
  };
  const sql = trinoSelect(checked.query, (table, columns) => relation(table, columns, sources, TRINO_TABLES), at);
  const withNamed = (named: Named): string => {
    const before = [
      ...(hasEvents ? [`lake_events AS (${rowsOf('events', events, lake, named)})`] : []),
      ...(isTied || hasPersons ? [`lake_persons AS (${rowsOf('persons', persons, lake, named)})`] : []),
      ...(isTied ? [`lake_ties AS (${tiesOfPersons('lake_persons', TRINO_TABLES)})`] : []),
      ...(hasPersons ? [`lake_people AS (SELECT * FROM ${personsOf('lake_persons', TRINO_TABLES)})`] : []),
    ];
    if (before.length === 0) return sql;
    return `WITH ${before.join(', ')}${sql.startsWith('WITH ') ? `, ${sql.slice('WITH '.length)}` : ` ${sql}`}`;
  };
  // By addresses Athena also knows which files it need not open; by names they take a third of the text.
  for (const named of [byAddress, byName]) {
    const text = withNamed(named);
    if (Buffer.byteLength(text) <= MAX_SQL_BYTES) return text;
  }
  return invalid(
    'query',
    `The query is too long, or reads too many files (${question.reads.length}), which are joined as time goes by. ` +
      'Ask for less: a shorter time.',
  );
}

/** The condition that rows are of these files. */
type Named = (files: readonly WorldFile[], lake: AthenaLake) => string;

const byAddress: Named = (files, { address }) => inFilesAt(files.map(({ path }) => `${address}${path}`));
const byName: Named = (files) => inFilesNamed(files.map(({ path }) => path));

/** What is partitioned by: the project, and the day of arrival. */
const PLACE = /\/team_id=(?<team>\d+)\/day=(?<day>[\d-]+)\//;

const TYPES = { VARCHAR: 'varchar', BIGINT: 'bigint', BOOLEAN: 'boolean' };

/** SQL of the rows in files of a model. Always with their list: beside them lie those whose place they have taken. */
function rowsOf(model: Model, files: readonly WorldFile[], lake: AthenaLake, named: Named): string {
  const { columns } = LAKE_MODELS[model];
  const places = files.map(({ path }) => PLACE.exec(path)?.groups ?? {});
  const days = places.map(({ day = '' }) => day).toSorted();
  const [first, last, team] = [days[0], days.at(-1), places[0]?.['team']];
  if (first === undefined || last === undefined || team === undefined)
    return `SELECT ${columns.map(({ name, type }) => `CAST(NULL AS ${TYPES[type]}) AS ${name}`).join(', ')} WHERE false`;
  const values = columns.map(({ name }) => (name === 'team_id' ? 'CAST(team_id AS bigint) AS team_id' : name));
  return [
    `SELECT ${values.join(', ')} FROM "${lake.database}"."${model}"`,
    `WHERE team_id = '${team}' AND day BETWEEN '${first}' AND '${last}' AND ${named(files, lake)}`,
  ].join(' ');
}

type Read = (value: string) => unknown;
type Texts = readonly (string | null)[];

/** How the parts of a tuple come out of their texts. */
function partsOf(tuple: Tuple): (texts: Texts) => unknown[] {
  const readers = partTypes(tuple).map(readerOf);
  return (texts) => readers.map((read, n) => (typeof texts[n] === 'string' ? read(texts[n]) : null));
}

/** How a value of a type comes out of Athena's text, as `trinoSelect` has it written. */
function readerOf(type: Type): Read {
  if (isTuple(type)) {
    const parts = partsOf(type);
    return (text) => parts(JSON.parse(text) as Texts);
  }
  if (isList(type)) {
    const element = elementType(type);
    if (isTuple(element)) {
      const parts = partsOf(element);
      return (text) => (JSON.parse(text) as readonly (Texts | null)[]).map((item) => item && parts(item));
    }
    const one = readerOf(element);
    return (text) => (JSON.parse(text) as Texts).map((item) => (item === null ? null : one(item)));
  }
  if (type === 'integer')
    return (text) => {
      const number = Number(text);
      return Number.isSafeInteger(number) ? number : text;
    };
  if (type === 'float')
    return (text) => {
      const number = Number(text);
      return Number.isFinite(number) ? number : null;
    };
  if (type === 'instant' || type === 'date') return (text) => Number(text) / 1000;
  if (type === 'boolean') return (text) => text === 'true';
  return (text) => text;
}
