/** Paths: from which page, screen or event persons go to which, step by step. */
import * as z from 'zod';
import { MINUTE_MS } from '../../basics/units.ts';
import { unspecial } from '../../hogql/patterns.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import {
  all,
  any,
  call,
  comparison,
  constant,
  field,
  fieldsOf,
  list,
  over,
  plus,
  select,
  when,
} from '../../hogql/write.ts';
import { choice, integer, text } from '../../http/fields.ts';
import type { Answer, ChosenNumber, Kind, Question, World } from './kind.ts';
import { firstEvent, inRange, rangeAsked, resolvedDateRange, type TimeRange } from './parts/date-range.ts';
import { lacking, MEMBERS, noBreakdown } from './parts/members.ts';
import { propertyCondition, propertyFilters } from './parts/property-filters.ts';

const PAGEVIEW = '$pageview';
const SCREEN = '$screen';

const DEFAULT_STEPS = 5;
const MAX_STEPS = 20;
const DEFAULT_EDGES = 50;
const MAX_EDGES = 10_000;
const MAX_RULES = 50;

/** Who does nothing for so long begins a new path. */
const GAP_MS = 30 * MINUTE_MS;

/** Stands for the steps that are left out in the middle. */
const LEFT_OUT = '...';

const PathsFilter = z.object({
  includeEventTypes: z.array(choice([PAGEVIEW, SCREEN, 'custom_event', 'hogql'])).nullish(),
  pathsHogQLExpression: z.string().nullish(),
  stepLimit: integer({ min: 2, max: MAX_STEPS }).nullish(),
  edgeLimit: integer({ min: 1, max: MAX_EDGES }).nullish(),
  startPoint: z.string().nullish(),
  endPoint: z.string().nullish(),
  pathGroupings: z
    .array(text({ trim: false }))
    .max(MAX_RULES)
    .nullish(),
  excludeEvents: z.array(z.string()).max(1000).nullish(),
  localPathCleaningFilters: z
    .array(z.object({ regex: z.string().nullish(), alias: z.string().nullish() }))
    .max(MAX_RULES)
    .nullish(),
  minEdgeWeight: integer({ min: 0 }).nullish(),
  maxEdgeWeight: integer({ min: 0 }).nullish(),
  pathStartKey: z.string().nullish(),
  pathEndKey: z.string().nullish(),
  pathDropoffKey: z.string().nullish(),
});
type PathsFilter = z.output<typeof PathsFilter>;

const PathsQuery = z.object({
  kind: z.literal('PathsQuery'),
  ...MEMBERS,
  pathsFilter: PathsFilter.nullish(),
  fixedProperties: propertyFilters(),
  breakdownFilter: noBreakdown('paths'),
  funnelPathsFilter: lacking('Paths of a funnel are'),
});
type PathsQuery = z.output<typeof PathsQuery>;

export const paths: Kind<PathsQuery> = { name: 'PathsQuery', schema: PathsQuery, answer, actors };

async function answer(query: PathsQuery, world: World): Promise<Answer> {
  const filter = query.pathsFilter ?? {};
  const { steps, range } = await stepsOf(query, world);
  const microseconds = call('minus', field('at'), field('last_at'));
  const edges = select({
    columns: {
      source: field('last_name'),
      target: field('name'),
      value: call('count'),
      average: call('divide', call('avg', microseconds), constant(1000)),
    },
    from: steps,
    where: call('isNotNull', field('last_name')),
    groupBy: [field('last_name'), field('name')],
  });
  const { minEdgeWeight: least, maxEdgeWeight: most } = filter;
  const isShown = all([
    ...(least ? [call('greaterOrEquals', field('value'), constant(least))] : []),
    ...(most ? [call('lessOrEquals', field('value'), constant(most))] : []),
  ]);
  const hogql =
    'SELECT source, target, value, average FROM {edges} AS edges WHERE {isShown} ' +
    `ORDER BY value DESC, source, target LIMIT ${filter.edgeLimit ?? DEFAULT_EDGES}`;
  const { rows } = await world.rows({ hogql, values: { edges, isShown }, from: range.from, to: range.to });
  const results = rows.map(([source, target, value, average]) => ({
    source: String(source),
    target: String(target),
    value: Number(value),
    average_conversion_time: Number(average),
  }));
  return { results: connected(results), resolved_date_range: resolvedDateRange(range, world) };
}

interface Edge {
  readonly source: string;
  readonly target: string;
}

/** Returns the edges to which others lead from a first step: what led to the rest is beyond a limit. */
function connected<T extends Edge>(edges: readonly T[]): T[] {
  const reached = new Set(edges.map(({ source }) => source).filter((source) => source.startsWith('1_')));
  // A set that grows is walked to its end.
  for (const source of reached) for (const edge of edges) if (edge.source === source) reached.add(edge.target);
  return edges.filter(({ source }) => reached.has(source));
}

async function actors(query: PathsQuery, _selection: ChosenNumber, world: World): Promise<Question> {
  const { steps, range } = await stepsOf(query, world);
  const { pathStartKey: start, pathEndKey: end, pathDropoffKey: last } = query.pathsFilter ?? {};
  const conditions = last
    ? [call('equals', field('name'), constant(last)), field('is_last')]
    : [
        ...(start ? [call('equals', field('last_name'), constant(start))] : []),
        ...(end ? [call('equals', field('name'), constant(end))] : []),
      ];
  return {
    hogql: 'SELECT DISTINCT actor AS actor_id FROM {steps} AS steps WHERE {condition}',
    values: { steps, condition: all(conditions) },
    from: range.from,
    to: range.to,
  };
}

const isOf = (event: string): Syntax => call('equals', field('event'), constant(event));

/** Where a point of a path is told as an address, its path; without a slash at its end. */
function pointOf(sent: string | null | undefined): string | undefined {
  if (sent === null || sent === undefined || sent === '') return undefined;
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^?#]*)/i.exec(sent)?.[1] ?? sent;
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path || '/';
}

/** The path of an address, without a slash, a query and a fragment at its end. */
const PATH = '^(?:[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?([^?#]*?)/?(?:[?#].*)?$';

/** What an event is called in a path, which is empty for one that is in none; and whether it has what that is made of. */
async function nameOf(filter: PathsFilter, world: World): Promise<{ readonly key: Syntax; readonly isThere: Syntax }> {
  const types = filter.includeEventTypes ?? [];
  const excluded = filter.excludeEvents ?? [];
  const isAsked = (type: (typeof types)[number]): boolean =>
    types.length === 0 ? !excluded.includes(type) : types.includes(type);
  let made: Syntax = field('event');
  if (isAsked('hogql') && filter.pathsHogQLExpression)
    made = call('toString', await world.expression(filter.pathsHogQLExpression));
  let key = made;
  if (isAsked(PAGEVIEW)) {
    const url = field('properties', '$current_url');
    const path = call('extract', url, constant(PATH));
    made = call('if', isOf(PAGEVIEW), url, made);
    // An address that is there has a path, which is empty at the root.
    key = call('if', isOf(PAGEVIEW), call('replaceRegexpOne', path, constant('^$'), constant('/')), key);
  }
  if (isAsked(SCREEN)) {
    made = call('if', isOf(SCREEN), field('properties', '$screen_name'), made);
    key = call('if', isOf(SCREEN), field('properties', '$screen_name'), key);
  }
  for (const { regex, alias } of filter.localPathCleaningFilters ?? [])
    if (regex) key = call('replaceRegexpAll', key, constant(regex), constant(alias ?? ''));
  const choices = (filter.pathGroupings ?? []).flatMap((grouping) => {
    const pattern = grouping.split('*').map(unspecial).join('.*');
    return [call('match', key, constant(pattern)), constant(grouping)];
  });
  return {
    key: choices.length === 0 ? key : call('multiIf', ...choices, key),
    isThere: call('notEquals', call('ifNull', made, constant('')), constant('')),
  };
}

function eventTypes({ includeEventTypes: types }: PathsFilter): Syntax[] {
  const conditions = [
    ...(types?.includes(PAGEVIEW) ? [isOf(PAGEVIEW)] : []),
    ...(types?.includes(SCREEN) ? [isOf(SCREEN)] : []),
    ...(types?.includes('custom_event') ? [call('not', call('startsWith', field('event'), constant('$')))] : []),
  ];
  return conditions.length === 0 ? [] : [any(conditions)];
}

/**
 * Returns a query whose rows are the steps of paths: whose (`actor`), when (`at`, microseconds since 1970), what (`name`,
 * such as `2_/a`), the step before of the same path (`last_name`, `last_at`), and whether it `is_last`.
 */
async function stepsOf(
  query: PathsQuery,
  world: World,
): Promise<{ readonly steps: Syntax; readonly range: TimeRange }> {
  const filter = query.pathsFilter ?? {};
  const passed = all([await propertyCondition(query, world), ...eventTypes(filter)]);
  const range = await rangeAsked(query.dateRange, 'day', world, () => firstEvent(world, passed));
  const orderBy = [field('at'), field('uuid')];
  const ofActor = { partitionBy: [field('actor')], orderBy };
  const ofPath = { partitionBy: [field('actor'), field('path')], orderBy };

  const { key, isThere } = await nameOf(filter, world);
  const named = select({
    columns: {
      actor: field('person_id'),
      at: call('toUnixTimestamp64Micro', field('timestamp')),
      uuid: field('uuid'),
      key,
    },
    from: 'events',
    where: all([inRange(range), passed, isThere]),
  });
  // Only what can be left out by its name is asked: the database would make each name once more to ask it.
  const isCleaned = (filter.localPathCleaningFilters ?? []).length > 0;
  const left = [...(isCleaned ? [''] : []), ...(filter.excludeEvents ?? [])];
  const events = select({
    columns: {
      ...fieldsOf(['actor', 'at', 'uuid', 'key']),
      next_at: over('leadInFrame', [field('at')], ofActor),
      next_key: over('leadInFrame', [field('key')], ofActor),
    },
    from: named,
    ...(left.length > 0 && { where: comparison('not in', field('key'), list(left)) }),
  });
  const pause = call('minus', field('next_at'), field('at'));
  const isEnd = any([call('isNull', field('next_at')), call('greaterOrEquals', pause, constant(GAP_MS * 1000))]);
  // Of the same in a row the last counts.
  const kinds = select({
    columns: { ...fieldsOf(['actor', 'at', 'uuid', 'key']), is_end: isEnd },
    from: events,
    where: any([isEnd, call('notEquals', field('next_key'), field('key'))]),
  });
  const endsBefore = over('sum', [call('if', field('is_end'), constant(1), constant(0))], {
    ...ofActor,
    frame: { by: 'ROWS', from: 'first', to: -1 },
  });
  const inPaths = select({
    columns: { ...fieldsOf(['actor', 'at', 'uuid', 'key']), path: call('ifNull', endsBefore, constant(0)) },
    from: kinds,
  });
  const compact = select({
    columns: { ...fieldsOf(['actor', 'at', 'key', 'path']), place: over('row_number', [], ofPath) },
    from: inPaths,
  });
  const numbered = numberedSteps(compact, filter);
  const inOrder = { partitionBy: [field('actor'), field('path')], orderBy: [field('step')] };
  const name = call('concat', call('toString', field('step')), constant('_'), field('key'));
  const titled = select({
    columns: { ...fieldsOf(['actor', 'at', 'path', 'step']), name },
    from: numbered,
    where: call('isNotNull', field('step')),
  });
  const steps = select({
    columns: {
      ...fieldsOf(['actor', 'at', 'name']),
      last_name: over('lagInFrame', [field('name')], inOrder),
      last_at: over('lagInFrame', [field('at')], inOrder),
      is_last: call('isNull', over('leadInFrame', [field('name')], inOrder)),
    },
    from: titled,
  });
  return { steps, range };
}

const isAtLeast = (a: Syntax, b: Syntax): Syntax => call('greaterOrEquals', a, b);
const minus = (a: Syntax, b: Syntax): Syntax => call('minus', a, b);

/** Returns the events of paths with `step`, counted from 1; null: it is beyond what is shown of the path. */
function numberedSteps(compact: Syntax, filter: PathsFilter): Syntax {
  const limit = filter.stepLimit ?? DEFAULT_STEPS;
  const [start, end] = [pointOf(filter.startPoint), pointOf(filter.endPoint)];
  const columns = fieldsOf(['actor', 'at', 'key', 'path']);
  const [place, first, last] = [field('place'), field('first'), field('last')];
  const ofPath = { partitionBy: [field('actor'), field('path')] };
  const firstPlace = (point: string, ...more: readonly Syntax[]): Syntax => {
    const is = all([call('equals', field('key'), constant(point)), ...more]);
    return over('min', [call('if', is, place, constant(null))], ofPath);
  };
  const upTo = (value: Syntax): Syntax => when(call('lessOrEquals', value, constant(limit)), value);
  if (start === undefined && end === undefined)
    return select({ columns: { ...columns, step: upTo(place) }, from: compact });

  const withFirst = select({
    columns: { ...columns, place, first: start === undefined ? constant(1) : firstPlace(start) },
    from: compact,
  });
  const behind = plus(minus(place, first), 1);
  if (end === undefined)
    return select({
      columns: { ...columns, step: upTo(behind) },
      from: withFirst,
      where: isAtLeast(place, first),
    });

  const withLast = select({
    columns: { ...columns, place, first, last: firstPlace(end, isAtLeast(place, first)) },
    from: withFirst,
    where: call('isNotNull', first),
  });
  const where = all([isAtLeast(place, first), isAtLeast(last, place)]);
  if (start === undefined) {
    // The last steps, up to the end point.
    const before = call('greatest', minus(last, constant(limit)), constant(0));
    const step = minus(place, before);
    return select({
      columns: { ...columns, step: when(isAtLeast(step, constant(1)), step) },
      from: withLast,
      where,
    });
  }
  // As many from both ends, and one that stands for what lies between.
  const half = Math.floor(limit / 2);
  const count = plus(minus(last, first), 1);
  const isLong = call('greater', count, constant(limit));
  const fromEnd = plus(minus(last, place), 1);
  const isMiddle = call('equals', behind, constant(half + 1));
  const step = call(
    'multiIf',
    call('or', call('not', isLong), call('lessOrEquals', behind, constant(half + 1))),
    behind,
    call('lessOrEquals', fromEnd, constant(half)),
    minus(constant(2 * half + 2), fromEnd),
    constant(null),
  );
  const key = call('if', all([isLong, isMiddle]), constant(LEFT_OUT), field('key'));
  return select({ columns: { ...fieldsOf(['actor', 'at', 'path']), key, step }, from: withLast, where });
}
