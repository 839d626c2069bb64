/**
 * The world of insights, whichever engine it is over: questions are read and checked, the files that they touch are
 * chosen, and what was looked at is told.
 */

import { Recent } from '../../basics/recent.ts';
import { DAY_MS } from '../../basics/units.ts';
import type { WholeQuery } from '../../hogql/expression.ts';
import { hasQuery, readsNow } from '../../hogql/facts.ts';
import { hogqlParser, type Parser } from '../../hogql/parse.ts';
import { filled } from '../../hogql/placeholders.ts';
import { withPropertyColumns } from '../../hogql/property-columns.ts';
import { lineAndColumn, refuse, refusedAs, within, withoutPlaces } from '../../hogql/refusal.ts';
import { type CheckedSelect, checkedSelect } from '../../hogql/select/select.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { hogqlText } from '../../hogql/text.ts';
import { type Times, timesRead } from '../../hogql/times-read.ts';
import { trinoSelect } from '../../hogql/trino-select.ts';
import { constant } from '../../hogql/write.ts';
import type { FileDigest } from '../../lake/intact.ts';
import type { Model } from '../../lake/schema.ts';
import { invalid } from '../../ports/errors.ts';
import type { FileStore } from '../../ports/files/files.ts';
import type { Question, Rows, World } from '../kinds/kind.ts';
import { parsedQuestions } from './parsed-questions.ts';
import { INSIGHT_TABLES, readsEvents, readsPersons, readsSessions, readsTies } from './tables.ts';

/** A file of the lake. The timestamps of its rows are milliseconds since 1970, inclusive. */
export interface WorldFile extends Partial<FileDigest> {
  readonly path: string;
  readonly min_timestamp: number;
  readonly max_timestamp: number;
}

/** All files of a project, by model. */
export type WorldFiles = Readonly<Record<Model, readonly WorldFile[]>>;

/** Of a world what is no file. */
export type Moment = Pick<World, 'now' | 'timezone' | 'weekStartDay' | 'testAccountFilters'>;

/** What was looked at for an answer, and thus what can change it. */
export interface Looked {
  /** Timestamps of events, milliseconds since 1970, inclusive; null: without an end. */
  readonly events: readonly { readonly from: number | null; readonly to: number | null }[];
  /** Whose distinct_ids are, or what persons are like. */
  readonly persons: boolean;
  /** Now itself, so that it means something else a moment later. */
  readonly now: boolean;
  /** Properties of events that questions name, each once. */
  readonly properties?: readonly string[];
  /** The first question, as text, asides left out. */
  readonly hogql: string | null;
}

export interface LookingWorld extends World {
  looked(): Looked;
}

/** A question that was read and checked, and what it reads of the lake. */
export interface CheckedQuestion {
  readonly checked: CheckedSelect;
  /** What `now()` is, in microseconds since 1970. */
  readonly at: bigint;
  /** The tables that it selects from, and the columns that it reads there. */
  readonly tables: readonly (readonly [table: string, columns: ReadonlySet<string>])[];
  /** Its rows are few and short. */
  readonly isSmall: boolean;
  /** It asks whose distinct_ids are. */
  readonly isTied: boolean;
  /** It asks what persons are like; selects from events, or sessions of events. */
  readonly hasPersons: boolean;
  readonly hasEvents: boolean;
  /** The files of events that its range touches, whether or not it selects from them. */
  readonly events: readonly WorldFile[];
  readonly persons: readonly WorldFile[];
  /** The files that it reads. */
  readonly reads: readonly WorldFile[];
}

/** Returns the rows of a question, values in the order and form of `Rows`. */
type AnswerQuestion = (question: CheckedQuestion) => Promise<readonly (readonly unknown[])[]>;

/** So many properties are told as read. */
const MAX_PROPERTIES = 50;

/** A session lasts a day at most, as SDKs make them. */
const LONGEST_SESSION_MS = DAY_MS;

/** Parsed texts that are kept; those of the program are fewer. */
const MAX_PARSED = 200;

/**
 * Returns what makes worlds over files of a project, whose questions `answer` answers. `files`: where it is kept what the
 * program's own are parsed to; what callers wrote never is.
 */
export function lookingWorlds(parser: Parser = hogqlParser(), files?: Pick<FileStore, 'read' | 'write'>) {
  const parsed = new Recent<Promise<Syntax>>(MAX_PARSED);
  const parsedOwn = files && parsedQuestions(parser, files);

  const syntaxOf = ({ hogql, limit }: Question): Promise<Syntax> => {
    const known = parsed.get(hogql);
    if (known !== undefined) return known;
    const made = limit === undefined && parsedOwn ? parsedOwn(hogql) : parser.query(hogql);
    parsed.set(hogql, made);
    // A failure is not an answer.
    made.catch(() => parsed.delete(hogql));
    return made;
  };

  return (files: WorldFiles, { now, ...moment }: Moment, answer: AnswerQuestion): LookingWorld => {
    const looks: Looked['events'][number][] = [];
    const properties = new Set<string>();
    let [persons, isNow, hogql]: [boolean, boolean, string | null] = [false, false, null];
    // An expression has a subquery, of which who tells the times of a question knows nothing.
    let hasOwnQueries = false;

    const at = BigInt(Math.floor(now * 1000));

    const checkedOf = async (question: Question) => {
      const { limit } = question;
      const { timezone: zone, weekStartDay } = moment;
      const syntax = filled(await syntaxOf(question), question.values ?? {});
      const given = limit === undefined ? undefined : Math.min(ownLimit(syntax) ?? limit.otherwise, limit.most);
      const asked = given === undefined ? syntax : { ...syntax, limit: constant(given + 1) };
      return { syntax, given, checked: checkedSelect(asked, { tables: INSIGHT_TABLES, zone, weekStartDay }) };
    };

    const rows = async (question: Question): Promise<Rows> => {
      const { syntax, checked, given } = await understood(() => checkedOf(question), question.limit && question.hogql);
      if (question.isAside !== true) hogql ??= hogqlText(syntax);
      propertiesOf(checked.query, properties);
      isNow ||= readsNow(checked.query);
      const tables = tablesOf(checked.query, at);
      const isTied = tables.some(([table, columns]) => readsTies(table, columns));
      const hasPersons = tables.some(([table, columns]) => readsPersons(table, columns));
      const hasEvents = tables.some(([table]) => readsEvents(table));
      persons ||= isTied || hasPersons;
      const hasSessions = tables.some(([table, columns]) => readsSessions(table, columns));
      const { from, to } = timesOf(
        hasOwnQueries ? {} : question,
        hasSessions ? undefined : timesRead(checked.query, 'events', 'timestamp_us', at),
      );
      if (hasEvents) looks.push({ from: finite(from), to: finite(to) });
      const events = files.events.filter((file) => file.max_timestamp >= from && file.min_timestamp <= to);
      const found = await answer({
        checked,
        at,
        tables,
        isSmall: question.isSmall === true,
        isTied,
        hasPersons,
        hasEvents,
        events,
        persons: files.persons,
        reads: [...(hasEvents ? events : []), ...(isTied || hasPersons ? files.persons : [])],
      });
      return {
        columns: checked.columns.map(({ name }) => name),
        types: checked.columns.map(({ clickhouse }) => clickhouse),
        computed: checked.computed,
        rows: given === undefined ? found : found.slice(0, given),
        ...(given === undefined ? {} : { limit: given, hasMore: found.length > given }),
      };
    };

    return {
      now,
      ...moment,
      rows,
      tables: async (question) => {
        // The next version of the program may take what this one refuses.
        isNow = true;
        const { checked } = await checkedOf(question);
        return [...new Set(tablesOf(checked.query, at).map(([table]) => table))];
      },
      check: (condition) => understood(async () => void (await checkedOf({ hogql: CONDITION, values: { condition } }))),
      expression: (text) =>
        understood(async () => {
          const [syntax] = await parser.expressions([text]);
          const expression = withoutPlaces(syntax as Syntax);
          hasOwnQueries ||= hasQuery(expression);
          return expression;
        }, text),
      looked: () => ({
        events: looks,
        persons,
        now: isNow,
        properties: [...properties].slice(0, MAX_PROPERTIES),
        hogql,
      }),
    };
  };
}

/** Of which a condition of events is checked. */
const CONDITION = 'SELECT event FROM events WHERE {condition}';

/** Returns the tables that a query selects from, and the columns that it reads there. */
function tablesOf(query: WholeQuery, at: bigint): CheckedQuestion['tables'] {
  const tables: [table: string, columns: ReadonlySet<string>][] = [];
  // Printing alone tells what is read where.
  trinoSelect(query, (table, columns) => (tables.push([table, columns]), table), at);
  return tables;
}

/**
 * Returns the times of events that can matter: those that the question tells, else those that its conditions need.
 * `needed`: these; undefined: it reads sessions, which may have begun before an event that it needs, and end after it.
 */
function timesOf({ from, to }: Pick<Question, 'from' | 'to'>, needed: Times | undefined): Times {
  const margin = needed === undefined ? LONGEST_SESSION_MS : 0;
  return {
    from: from === undefined ? (needed?.from ?? -Infinity) : from - margin,
    to: to === undefined ? (needed?.to ?? Infinity) : to + margin,
  };
}

/** Adds the properties of events that a query reads as columns might hold them. */
function propertiesOf(query: WholeQuery, found: Set<string>): void {
  const columnOf = (property: string): undefined => void found.add(property);
  withPropertyColumns(query, { table: 'events', document: 'properties', columnOf });
}

/** Returns the LIMIT that a query has, where it is a number. */
function ownLimit(syntax: Syntax): number | undefined {
  const limit = 'limit' in syntax ? (syntax.limit as { readonly value?: { readonly number?: string } } | null) : null;
  if (!limit) return undefined;
  const number = Number(limit.value?.number);
  // Any other one would be taken for none.
  if (!(Number.isInteger(number) && number >= 0)) within(limit, () => refuse('LIMIT takes a whole number from 0'));
  return number;
}

const finite = (instant: number): number | null => (Number.isFinite(instant) ? instant : null);

/** Throws the 400 of what a caller wrote and is not supported: with the place in `text`, if that is theirs. */
const understood = <T>(work: () => Promise<T>, text?: string): Promise<T> =>
  refusedAs(work, ({ message, span }) =>
    invalid('query', text && span ? `${message} (${lineAndColumn(text, span)})` : message),
  );
