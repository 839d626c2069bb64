/**
 * The runs of a funnel, as a query. Each event of the first step begins a run, which takes the earliest event of each
 * next step; an event is one step of a run. Times are microseconds since 1970.
 */
import type { Syntax } from '../../../hogql/syntax.ts';
import {
  all,
  any,
  array,
  type Columns,
  call,
  constant,
  field,
  fieldsOf,
  over,
  plus,
  select,
  type WindowParts,
  when,
} from '../../../hogql/write.ts';

/** What the runs of a funnel depend on. */
export interface FunnelShape {
  readonly order: 'ordered' | 'strict' | 'unordered';
  /** The condition of each step. */
  readonly steps: readonly Syntax[];
  /** Whether one event may be both of two steps; and whether they are the same. */
  readonly overlaps: (a: number, b: number) => boolean;
  readonly equals: (a: number, b: number) => boolean;
  readonly windowUs: number;
  /** Such an event may not lie behind the step `from` and before the step `to`, counted from 0. */
  readonly exclusions: readonly { readonly condition: Syntax; readonly from: number; readonly to: number }[];
  /** Which events there are. */
  readonly where: Syntax;
  /** Whose an event is. */
  readonly actor: Syntax;
  readonly breakdown: FunnelBreakdown | undefined;
}

interface FunnelBreakdown {
  /** The value of an event, a text. */
  readonly value: Syntax;
  /** The value of events that have none. */
  readonly missing: string;
  /**
   * Whose value a run has: the person's first or last event's that has one, each event's (a run is of events of one
   * value), or its event's of a step.
   */
  readonly attribution: 'first_touch' | 'last_touch' | 'all_events' | { readonly step: number };
}

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const named = (entries: readonly (readonly [name: string, value: Syntax])[]): Columns => Object.fromEntries(entries);
const isAtMost = (a: Syntax, b: Syntax): Syntax => call('lessOrEquals', a, b);

const AT = field('at');
const ONWARD = { from: 0, to: 'last' } as const;
const AFTER = { by: 'ROWS', from: 1, to: 'last' } as const;

/**
 * Returns a query whose rows are runs: `actor`, `value` (where there is a breakdown), `t0` and so on with the times of the
 * steps (null: not reached within the window), `reached`, how many they are, `done`, the time of the last of them, and
 * `is_excluded`. One person has a run for each of their events that begin one.
 */
export const runsOf = (shape: FunnelShape): Syntax => RUNS[shape.order](shape);

/**
 * Whether no two runs of a person reach as many steps, end at the same time, and have different times before: each run
 * that `runsOf` gives of a strict funnel, and each that `bestRunsOf` gives.
 */
export const areRunsApart = (shape: FunnelShape): boolean => areApart(shape) && shape.exclusions.length === 0;

/** The columns by which rows belong together. */
export const keyOf = ({ breakdown }: Pick<FunnelShape, 'breakdown'>): readonly string[] =>
  breakdown === undefined ? ['actor'] : ['actor', 'value'];

const flagsOf = ({ steps }: FunnelShape): string[] => steps.map((_, n) => `s${n}`);
const exclusionsOf = ({ exclusions }: FunnelShape): string[] => exclusions.map((_, n) => `x${n}`);
const fields = (names: readonly string[]): Syntax[] => names.map((name) => field(name));

/** What tells apart events of a strict funnel that stand at one instant and are the same step, where that matters. */
const idsOf = (shape: FunnelShape): readonly string[] =>
  shape.order === 'strict' && !areRunsApart(shape) ? ['uuid'] : [];

/** The events: `actor`, `value`, `at`, `s0` ... whether it is a step, `x0` ... whether it is excluded, `is_start`. */
function eventsOf(shape: FunnelShape): Syntax {
  const { order, breakdown } = shape;
  const [flags, excluded] = [flagsOf(shape), exclusionsOf(shape)];
  const isStrict = order === 'strict';
  const ids = idsOf(shape);
  const conditions = [...shape.steps, ...shape.exclusions.map(({ condition }) => condition)];
  const events = select({
    columns: {
      actor: shape.actor,
      at: call('toUnixTimestamp64Micro', field('timestamp')),
      ...named(conditions.map((condition, n) => [[...flags, ...excluded][n] as string, condition])),
      ...fieldsOf(ids),
      ...(breakdown && { value: breakdown.value }),
    },
    from: 'events',
    where: isStrict ? shape.where : all([shape.where, any(conditions)]),
  });
  const names = ['actor', 'at', ...flags, ...excluded, ...ids];
  const isStep = any(fields(flags));
  const is_start = order === 'unordered' ? isStep : field('s0');
  if (breakdown === undefined) return select({ columns: { ...fieldsOf(names), is_start }, from: events });
  const { attribution } = breakdown;
  if (attribution === 'all_events')
    return select({ columns: { ...fieldsOf([...names, 'value']), is_start }, from: events });
  if (typeof attribution === 'string') {
    const has = all([isStep, call('notEquals', field('value'), constant(breakdown.missing))]);
    const ofActor: WindowParts = { partitionBy: [field('actor')] };
    const touched = over(attribution === 'first_touch' ? 'min' : 'max', [when(has, AT)], ofActor);
    const isTouched = all([has, call('equals', AT, field('touched'))]);
    const value = call('ifNull', over('min', [when(isTouched, field('value'))], ofActor), constant(breakdown.missing));
    const inner = select({ columns: { ...fieldsOf([...names, 'value']), touched }, from: events });
    return select({ columns: { ...fieldsOf(names), value, is_start }, from: inner });
  }
  // A person is looked at once for each value that their events of the step have.
  const source = order === 'unordered' ? undefined : `s${attribution.step}`;
  const values = select({
    columns: fieldsOf(['actor', 'value']),
    from: events,
    where: source === undefined ? isStep : field(source),
    isDistinct: true,
  });
  const isOfValue = call('equals', field('e', 'value'), field('v', 'value'));
  const both = select({
    columns: {
      ...named(names.map((name) => [name, field('e', name)])),
      ...(source !== undefined && { [source]: all([field('e', source), isOfValue]) }),
      value: field('v', 'value'),
      is_of_value: isOfValue,
    },
    from: events,
    as: 'e',
    join: { query: values, as: 'v', on: call('equals', field('e', 'actor'), field('v', 'actor')) },
  });
  const isStart = source === undefined ? all([isStep, field('is_of_value')]) : field('s0');
  return select({ columns: { ...fieldsOf([...names, 'value']), is_start: isStart }, from: both });
}

/** What a run passes: events, or where that matters, all events of one person and instant together. */
interface Rows {
  readonly query: Syntax;
  readonly names: readonly string[];
  /** The condition that a row holds an event of a step. */
  readonly has: (step: number) => Syntax;
  /** The frames of windows that begin with the row and the events of its instant. */
  readonly by: 'ROWS' | 'RANGE';
}

const isSome = (count: string): Syntax => call('greater', field(count), constant(0));

function rowsOf(shape: FunnelShape, sets: ReadonlyMap<string, readonly number[]>): Rows {
  const [key, flags] = [keyOf(shape), flagsOf(shape)];
  const events = eventsOf(shape);
  if (areRunsApart(shape))
    return {
      query: events,
      names: [...key, 'at', ...flags, 'is_start'],
      has: (step) => field(`s${step}`),
      by: 'RANGE',
    };
  const counts = new Map<string, Syntax>([
    ...flags.map((flag, step) => [`c${step}`, field(flag)] as const),
    ...[...sets].map(([name, steps]) => [name, any(steps.map((step) => field(`s${step}`)))] as const),
  ]);
  const instants = select({
    columns: {
      ...fieldsOf([...key, 'at']),
      ...named([...counts].map(([name, condition]) => [name, call('countIf', condition)])),
      starts: call('countIf', field('is_start')),
      ...named(exclusionsOf(shape).map((name) => [name, call('countIf', field(name))])),
    },
    from: events,
    groupBy: fields([...key, 'at']),
  });
  const after = shape.exclusions.map((_, n): readonly [string, Syntax] => [
    `y${n}`,
    over('min', [when(isSome(`x${n}`), AT)], windowOf(shape, AFTER)),
  ]);
  const names = [...key, 'at', ...counts.keys()];
  const query = select({
    columns: { ...fieldsOf(names), is_start: isSome('starts'), ...named(after) },
    from: instants,
  });
  return {
    query,
    names: [...names, 'is_start', ...after.map(([name]) => name)],
    has: (step) => isSome(`c${step}`),
    by: 'ROWS',
  };
}

const windowOf = (shape: FunnelShape, frame: NonNullable<WindowParts['frame']>): WindowParts => ({
  partitionBy: fields(keyOf(shape)),
  orderBy: [AT],
  frame,
});

/** Steps that one event may be, together: none of a group shares an event with a step of another group. */
export function groupsOf({ steps, overlaps }: Pick<FunnelShape, 'steps' | 'overlaps'>): number[][] {
  return range(steps.length).reduce<number[][]>((groups, step) => {
    const near = groups.filter((group) => group.some((other) => overlaps(other, step)));
    const rest = groups.filter((group) => !near.includes(group));
    return [...rest, [...near.flat(), step].toSorted((a, b) => a - b)];
  }, []);
}

/** Whether no event is two of the steps. */
const areApart = (shape: FunnelShape): boolean => groupsOf(shape).every((group) => group.length < 2);

/** So many different steps of a group are told apart exactly where they happen at one and the same microsecond. */
const MAX_TOGETHER = 6;

const subsetsOf = (items: readonly number[]): number[][] =>
  items.reduce<number[][]>((found, item) => [...found, ...found.map((one) => [...one, item])], [[]]).slice(1);

const setName = (steps: readonly number[]): string => `c${steps.join('_')}`;

/** What must be there at an instant so that the steps happen there, each by an event of its own (Hall's condition). */
function demandsOf(
  steps: readonly number[],
  shape: FunnelShape,
): { readonly set: readonly number[]; readonly count: number }[] {
  const { equals } = shape;
  return groupsOf(shape).flatMap((group) => {
    const own = group.filter((step) => steps.includes(step));
    const different = own.filter((step, at) => !own.slice(0, at).some((before) => equals(before, step)));
    const subsets =
      different.length > MAX_TOGETHER ? different.map((_, n) => different.slice(0, n + 1)) : subsetsOf(different);
    return subsets.map((set) => ({
      set,
      count: own.filter((step) => set.some((one) => one === step || equals(one, step))).length,
    }));
  });
}

/** The sets of steps whose events must be counted together. */
function setsOf(shape: FunnelShape, chains: readonly (readonly number[])[]): ReadonlyMap<string, readonly number[]> {
  if (areApart(shape)) return new Map();
  const stretches = chains.flatMap((chain) => chain.flatMap((_, n) => chain.map((__, m) => chain.slice(n, m + 1))));
  const sets = stretches.flatMap((steps) => demandsOf(steps, shape).map(({ set }) => [setName(set), set] as const));
  return new Map(sets.filter(([, set]) => set.length > 1));
}

/** A value that is carried back from where a step is done to where the run begins: its time, or what comes behind it. */
interface Carried {
  readonly name: string;
  readonly step: number;
  /** The column of the row at which the step is done. */
  readonly own: string;
}

/**
 * Returns the rows with what a chain of steps carries back to them; and from that, by its name, what is carried to a row
 * at which the first step of the chain is done.
 */
function carriedBack(
  shape: FunnelShape,
  rows: Rows,
  chain: readonly number[],
  carried: readonly Carried[],
): { readonly query: Syntax; readonly found: Columns } {
  const isApart = groupsOf(shape).every((group) => group.filter((step) => chain.includes(step)).length < 2);
  const window = windowOf(shape, isApart ? { by: rows.by, ...ONWARD } : AFTER);
  const next = (place: number, name: string): Syntax => field(`n${chain[place]}_${name}`);
  const whenDone = (place: number, { name, step, own }: Carried): Syntax => {
    const target = chain.indexOf(step);
    if (place === target) return field(own);
    if (isApart) return next(place + 1, name);
    // How many steps are done at this instant, from the most on.
    const choices = range(target - place).flatMap((back) => {
      const demands = demandsOf(chain.slice(place, target - back + 1), shape);
      const can = demands.map(({ set, count }) => call('greaterOrEquals', field(setName(set)), constant(count)));
      return [all(can), back === 0 ? field(own) : next(target - back + 1, name)];
    });
    return call('multiIf', ...choices, next(place + 1, name));
  };
  let { query } = rows;
  let names: readonly string[] = [];
  for (const place of range(chain.length).slice(1).toReversed()) {
    const windows = carried
      .filter(({ step }) => chain.indexOf(step) >= place)
      .map((one): readonly [string, Syntax] => [
        `n${chain[place]}_${one.name}`,
        over('min', [when(rows.has(chain[place] as number), whenDone(place, one))], window),
      ]);
    // What is only a later step is of no more use.
    const isNeeded = isApart && place < chain.length - 1 && shape.order === 'ordered';
    query = select({
      columns: { ...fieldsOf([...rows.names, ...names]), ...named(windows) },
      from: query,
      ...(isNeeded && { where: any(chain.slice(0, place + 1).map(rows.has)) }),
    });
    names = [...(isApart ? [] : names), ...windows.map(([name]) => name)];
  }
  return { query, found: named(carried.map((one) => [one.name, whenDone(0, one)])) };
}

const timeNames = ({ steps }: FunnelShape): string[] => steps.map((_, n) => `t${n}`);

/** Returns runs of what has the columns `t0` and so on, and `y0` and so on: the next excluded event. */
function finished(shape: FunnelShape, query: Syntax): Syntax {
  const { exclusions, windowUs } = shape;
  const names = timeNames(shape);
  const reached = range(names.length)
    .slice(1)
    .toReversed()
    .flatMap((n) => [call('isNotNull', field(`t${n}`)), constant(n + 1)]);
  const excluded = exclusions.map(({ from, to }, n) =>
    all([
      call('isNotNull', field(`t${from}`)),
      call('isNotNull', field(`y${n}`)),
      call('less', field(`y${n}`), call('ifNull', field(`t${to}`), plus(field('t0'), windowUs + 1))),
    ]),
  );
  const columns = {
    ...fieldsOf([...keyOf(shape), ...names]),
    reached: call('multiIf', ...reached, constant(1)),
    is_excluded: any(excluded),
    done: call('coalesce', ...fields(names.toReversed())),
  };
  return select({ columns, from: query });
}

function orderedRuns(shape: FunnelShape): Syntax {
  const chain = range(shape.steps.length);
  const carried: Carried[] = [
    ...chain.slice(1).map((step) => ({ name: `t${step}`, step, own: 'at' })),
    ...shape.exclusions.map(({ from }, n) => ({ name: `y${n}`, step: from, own: `y${n}` })),
  ];
  const { query, found } = carriedBack(shape, rowsOf(shape, setsOf(shape, [chain])), chain, carried);
  // No column is called as one that another is made of.
  const ends = named(Object.entries(found).map(([name, value]) => [`r_${name}`, value]));
  const starts = select({
    columns: { ...fieldsOf([...keyOf(shape), 'at']), ...ends },
    from: query,
    where: field('is_start'),
  });
  const last = plus(AT, shape.windowUs);
  const inWindow = chain
    .slice(1)
    .map((n): readonly [string, Syntax] => [`t${n}`, when(isAtMost(field(`r_t${n}`), last), field(`r_t${n}`))]);
  const after = shape.exclusions.map((_, n): readonly [string, Syntax] => [`y${n}`, field(`r_y${n}`)]);
  const columns = { ...fieldsOf(keyOf(shape)), t0: AT, ...named([...inWindow, ...after]) };
  return finished(shape, select({ columns, from: starts }));
}

/**
 * Returns some runs of an ordered funnel whose runs are apart, as `runsOf` does but without `is_excluded`: of each person
 * those among which the one is that gets furthest; of those the one that ends first, and of those the one that begins last.
 *
 * A run of one step more ends at an event of that step, and the last to begin of those that may end there is the one that
 * came to the step before last: the row before, of these two sorts. So each step takes one look at the row before,
 * and leaves fewer rows: of an event after another one of its step there is nothing to gain.
 *
 * Which step an event is, it says by flags, which windows carry and sort for less than a number; of the first step are
 * those without one.
 */
export function bestRunsOf(shape: FunnelShape): Syntax {
  const key = keyOf(shape);
  const steps = range(shape.steps.length);
  const later = steps.slice(1).map((step) => `is_${step}`);
  const isAt = (step: number): Syntax => (step === 0 ? call('not', any(fields(later))) : field(`is_${step}`));
  const flags = named(later.map((name, n) => [name, call('ifNull', field(`s${n + 1}`), constant(false))]));
  // Of a step that a value is taken from, events of other values are no step.
  const hasOtherValues = typeof shape.breakdown?.attribution === 'object';
  let query = select({
    columns: { ...fieldsOf([...key, 'at']), ...flags },
    from: eventsOf(shape),
    ...(hasOtherValues && { where: any(fields(flagsOf(shape))) }),
  });
  for (const step of steps.slice(1)) {
    const isRun = isAt(step - 1);
    const times = range(step).map((n) => `t${n}`);
    // A run of one step has begun where it is: what windows sort is as little as can be.
    const timeOf = (name: string): Syntax => (step === 1 ? AT : field(name));
    const isLooked = any([isRun, isAt(step)]);
    // Of two steps all rows are looked at.
    const hasOthers = steps.length > 2;
    const parts = { partitionBy: [...fields(key), ...(hasOthers ? [isLooked] : [])], orderBy: [AT, isAt(step)] };
    const everything: WindowParts = { ...parts, frame: { by: 'ROWS', from: 'first', to: 'last' } };
    const looked = select({
      columns: {
        ...fieldsOf([...key, 'at', ...later, ...(step === 1 ? [] : times)]),
        ...named(
          times.map((name) => [`b_${name}`, over('lagInFrame', [when(isRun, timeOf(name)), constant(1)], everything)]),
        ),
        earliest: over('min', [when(isRun, AT)], everything),
      },
      from: query,
    });
    const isFirst = call('equals', AT, field('earliest'));
    const isNext = isAtMost(AT, plus(field('b_t0'), shape.windowUs));
    const isOfUse = call('if', isAt(step), isNext, isFirst);
    query = select({
      columns: {
        ...fieldsOf([...key, 'at', ...later]),
        ...named(times.map((name) => [name, call('if', isAt(step), field(`b_${name}`), timeOf(name))])),
        [`t${step}`]: when(isAt(step), AT),
      },
      from: looked,
      where: hasOthers ? call('if', isLooked, isOfUse, constant(true)) : isOfUse,
    });
  }
  const reached = call('multiIf', ...steps.slice(1).flatMap((step) => [isAt(step), constant(step + 1)]), constant(1));
  const columns = { ...fieldsOf([...key, ...timeNames(shape)]), reached, done: AT };
  return select({ columns, from: query });
}

/** Events stand in the order of time; of one instant, what is excluded first, then by the first step that they are. */
function strictRuns(shape: FunnelShape): Syntax {
  const [key, flags, excluded] = [keyOf(shape), flagsOf(shape), exclusionsOf(shape)];
  const later = range(shape.steps.length).slice(1);
  const ids = idsOf(shape);
  const place = call(
    'multiIf',
    ...(excluded.length === 0 ? [] : [any(fields(excluded)), constant(-1)]),
    ...flags.flatMap((flag, n) => [field(flag), constant(n)]),
    constant(flags.length),
  );
  const events = select({
    columns: { ...fieldsOf([...key, 'at', ...flags, ...excluded, ...ids, 'is_start']), place },
    from: eventsOf(shape),
  });
  const orderBy = fields(['at', 'place', ...ids]);
  const partitionBy = fields(key);
  const everything: WindowParts = { partitionBy, orderBy, frame: { by: 'ROWS', from: 'first', to: 'last' } };
  const ahead = (value: Syntax, count: number): Syntax =>
    count === 0 ? value : over('leadInFrame', [value, constant(count)], everything);
  const nexts = later.map((n): readonly [string, Syntax] => [`r_t${n}`, ahead(when(field(`s${n}`), AT), n)]);
  const behind = excluded.map((name, n): readonly [string, Syntax] => [
    `z${n}`,
    over('min', [when(field(name), AT)], { partitionBy, orderBy, frame: AFTER }),
  ]);
  const rows = select({
    columns: { ...fieldsOf([...key, 'at', ...ids, 'place', 'is_start']), ...named([...nexts, ...behind]) },
    from: events,
  });
  const after = shape.exclusions.map(({ from }, n): readonly [string, Syntax] => [
    `y${n}`,
    ahead(field(`z${n}`), from),
  ]);
  const all_ = select({
    columns: { ...fieldsOf([...key, 'at', 'is_start', ...nexts.map(([name]) => name)]), ...named(after) },
    from: rows,
  });
  const last = plus(AT, shape.windowUs);
  const times = later.map((n): readonly [string, Syntax] => {
    const isNext = range(n)
      .slice(1)
      .map((m) => call('isNotNull', field(`r_t${m}`)));
    return [`t${n}`, when(all([...isNext, isAtMost(field(`r_t${n}`), last)]), field(`r_t${n}`))];
  });
  const columns = { ...fieldsOf(key), t0: AT, ...named(times), ...fieldsOf(after.map(([name]) => name)) };
  return finished(shape, select({ columns, from: all_, where: field('is_start') }));
}

/** Later than any event. */
const NEVER_US = 8_000_000_000_000_000;

/** Steps that are the same follow one another; the others are looked for each by itself. */
function unorderedRuns(shape: FunnelShape): Syntax {
  const chains = groupsOf(shape);
  let rows = rowsOf(shape, setsOf(shape, chains));
  for (const chain of chains) {
    const carried = chain.map((step) => ({ name: `t${step}`, step, own: 'at' }));
    const { query, found } = carriedBack(shape, rows, chain, carried);
    const done = named(Object.entries(found).map(([name, value]) => [`d_${name}`, value]));
    const marked = select({ columns: { ...fieldsOf(rows.names), ...done }, from: query });
    const hasFirst = rows.has(chain[0] as number);
    const window = windowOf(shape, { by: rows.by, ...ONWARD });
    const next = Object.keys(found).map((name): readonly [string, Syntax] => [
      `r_${name}`,
      over('min', [when(hasFirst, field(`d_${name}`))], window),
    ]);
    rows = {
      ...rows,
      query: select({ columns: { ...fieldsOf(rows.names), ...named(next) }, from: marked }),
      names: [...rows.names, ...next.map(([name]) => name)],
    };
  }
  const last = plus(AT, shape.windowUs);
  const ends = timeNames(shape).map((name) =>
    call('if', isAtMost(field(`r_${name}`), last), field(`r_${name}`), constant(NEVER_US)),
  );
  const after = fieldsOf(shape.exclusions.map((_, n) => `y${n}`));
  const sorted = select({
    columns: { ...fieldsOf([...keyOf(shape), 'at']), ...after, ends: call('arraySort', array(ends)) },
    from: rows.query,
    where: field('is_start'),
  });
  const times = range(shape.steps.length)
    .slice(1)
    .map((n): readonly [string, Syntax] => [
      `t${n}`,
      call('nullIf', call('arrayElement', field('ends'), constant(n + 1)), constant(NEVER_US)),
    ]);
  return finished(
    shape,
    select({ columns: { ...fieldsOf(keyOf(shape)), t0: AT, ...named(times), ...after }, from: sorted }),
  );
}

const RUNS: Readonly<Record<FunnelShape['order'], (shape: FunnelShape) => Syntax>> = {
  ordered: orderedRuns,
  strict: strictRuns,
  unordered: unorderedRuns,
};
