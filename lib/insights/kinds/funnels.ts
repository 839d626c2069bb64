/** Funnels: how many persons do one event after another, how far they get, and how long it takes. */
import type { Syntax } from '../../hogql/syntax.ts';
import { all, any, type Columns, call, constant, field, fieldsOf, over, select } from '../../hogql/write.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, ChosenNumber, Kind, Question, Rows, World } from './kind.ts';
import { type Breakdown, breakdownLabel, MISSING, SEPARATOR } from './parts/breakdown.ts';
import { bucketIndex, edgesOf } from './parts/bucket-index.ts';
import { bucketsOf, resolvedDateRange } from './parts/date-range.ts';
import { furthestOf, hasReached } from './parts/funnel-persons.ts';
import { type Funnel, FunnelsQuery, funnelOf } from './parts/funnel-query.ts';
import type { FunnelShape } from './parts/funnel-runs.ts';

export const funnels: Kind<FunnelsQuery> = { name: 'FunnelsQuery', schema: FunnelsQuery, answer, actors };

async function answer(query: FunnelsQuery, world: World): Promise<Answer> {
  const funnel = await funnelOf(query, world);
  const results = await ANSWERS[funnel.filter.funnelVizType ?? 'steps'](funnel, world);
  return { results, resolved_date_range: resolvedDateRange(funnel.range, world) };
}

const ANSWERS = { steps: stepsAnswer, trends: trendsAnswer, time_to_convert: timeToConvert } as const;

const microsecondsBetween = (from: number, to: number): Syntax => call('minus', field(`u${to}`), field(`u${from}`));
const inSeconds = (microseconds: Syntax): Syntax => call('divide', microseconds, constant(1_000_000));

/** Asks the world for the rows of a query, by the names of their columns. */
async function ask(
  { range }: Pick<Funnel, 'range'>,
  query: Syntax,
  world: World,
  order?: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const hogql = `SELECT * FROM {answer} AS answer${order === undefined ? '' : ` ORDER BY ${order}`}`;
  const { columns, rows }: Rows = await world.rows({
    hogql,
    values: { answer: query },
    from: range.from,
    to: range.to,
  });
  return rows.map((row) => Object.fromEntries(columns.map((name, n) => [name, row[n]])));
}

async function stepsAnswer(funnel: Funnel, world: World): Promise<unknown> {
  const { shape, breakdown } = funnel;
  const names = shape.steps.map((_, n) => n);
  const numbers = Object.fromEntries(
    names.flatMap((n) => [
      [`count${n}`, call('countIf', hasReached(n + 1))],
      ...(n === 0
        ? []
        : [
            // Integers are added exactly, so no order of the rows shows in the last bit.
            [`average${n}`, inSeconds(call('avg', microsecondsBetween(n - 1, n)))],
            [`median${n}`, call('median', inSeconds(microsecondsBetween(n - 1, n)))],
          ]),
    ]),
  ) as Columns;
  const persons = furthestOf(shape);
  if (breakdown === undefined) {
    const [row = {}] = await ask(funnel, select({ columns: numbers, from: persons }), world);
    return stepResults(funnel, row);
  }
  const isOther = isBeyond(breakdown);
  const { value: _, ...numbered } = keptOf(shape);
  const shown = select({
    columns: {
      ...numbered,
      place: field('place'),
      is_other: isOther,
      shown: call('if', isOther, constant(''), field('value')),
    },
    from: placedOf(shape, persons),
  });
  const answered = select({
    columns: { ...fieldsOf(['is_other', 'shown']), first: call('min', field('place')), ...numbers },
    from: shown,
    groupBy: [field('is_other'), field('shown')],
  });
  const rows = await ask(funnel, answered, world, 'first');
  return rows
    .filter((row) => row['is_other'] !== true || !breakdown.hidesOther)
    .map((row) => {
      const value = row['is_other'] === true ? [OTHER] : valuesOf(row['shown'], breakdown);
      return stepResults(funnel, row).map((one) => ({ ...one, breakdown: value, breakdown_value: value }));
    });
}

const keptOf = ({ steps }: FunnelShape): Columns => fieldsOf(['value', 'furthest', ...steps.map((_, n) => `u${n}`)]);

/** Returns the persons with the `place` of their value, by how many of it got furthest. */
function placedOf(shape: FunnelShape, persons: Syntax): Syntax {
  const names = shape.steps.map((_, n) => n);
  const kept = keptOf(shape);
  const reaching = Object.fromEntries(
    names.map((n) => [
      `total${n}`,
      over('count', [call('if', hasReached(n + 1), constant(1), constant(null))], { partitionBy: [field('value')] }),
    ]),
  );
  const orderBy = [...names.toReversed().map((n) => ({ descending: field(`total${n}`) })), field('value')];
  const counted = select({ columns: { ...kept, ...reaching, actor: field('actor') }, from: persons });
  const place = over('dense_rank', [], { partitionBy: [], orderBy });
  return select({ columns: { ...kept, actor: field('actor'), place }, from: counted });
}

const isBeyond = ({ limit }: Breakdown): Syntax => call('greater', field('place'), constant(limit));

/** What PostHog calls all values beyond the limit in funnels. */
const OTHER = 'Other';

/** Returns the values of a breakdown; what is missing is empty. */
const valuesOf = (value: unknown, breakdown: Breakdown): string[] =>
  [breakdownLabel(breakdown, String(value)).breakdown_value].flat().map((one) => (one === MISSING ? '' : one));

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function stepResults({ query, shape }: Funnel, row: Readonly<Record<string, unknown>>) {
  const isUnordered = shape.order === 'unordered';
  return query.series.map((one, n) => {
    const event = one.event || null;
    return {
      action_id: isUnordered ? null : event,
      name: isUnordered ? `Completed ${n + 1} step${n === 0 ? '' : 's'}` : (event ?? 'All events'),
      custom_name: isUnordered ? null : (one.custom_name ?? null),
      order: n,
      people: [],
      count: Number(row[`count${n}`] ?? 0),
      type: 'events',
      average_conversion_time: n === 0 ? null : numberOrNull(row[`average${n}`]),
      median_conversion_time: n === 0 ? null : numberOrNull(row[`median${n}`]),
    };
  });
}

/** The number of the bucket in which a run begins. */
function bucketOf({ query, range }: Funnel, world: World) {
  const buckets = bucketsOf(range, query.interval ?? 'day', world);
  return { buckets, index: bucketIndex(edgesOf(buckets), call('fromUnixTimestamp64Micro', field('t0'))) };
}

async function trendsAnswer(funnel: Funnel, world: World): Promise<unknown> {
  const { shape, breakdown, from, to } = funnel;
  const { buckets, index } = bucketOf(funnel, world);
  const keys = breakdown === undefined ? ['bucket'] : ['value', 'bucket'];
  const counts = { entered: call('countIf', hasReached(from + 1)), converted: call('countIf', hasReached(to + 1)) };
  const counted = select({
    columns: { ...fieldsOf(keys), ...counts },
    from: furthestOf(shape, { bucket: index }),
    groupBy: keys.map((name) => field(name)),
  });
  const dataOf = (rows: readonly Readonly<Record<string, unknown>>[]) => {
    const data = buckets.map(() => 0);
    for (const { bucket, entered, converted } of rows) {
      const rate = Number(entered) === 0 ? 0 : (Number(converted) / Number(entered)) * 100;
      data[Number(bucket)] = Number(rate.toFixed(2));
    }
    return {
      count: buckets.length,
      data,
      days: buckets.map(({ day }) => day),
      labels: buckets.map(({ label }) => label),
    };
  };
  if (breakdown === undefined) return [dataOf(await ask(funnel, counted, world))];
  const kept = fieldsOf([...keys, 'entered', 'converted']);
  const total = over('sum', [field('entered')], { partitionBy: [field('value')] });
  const totals = select({ columns: { ...kept, total }, from: counted });
  const orderBy = [{ descending: field('total') }, field('value')];
  const place = over('dense_rank', [], { partitionBy: [], orderBy });
  const placed = select({ columns: { ...kept, place }, from: totals });
  const isShown = call('lessOrEquals', field('place'), constant(breakdown.limit));
  const rows = await ask(
    funnel,
    select({ columns: { ...kept, place: field('place') }, from: placed, where: isShown }),
    world,
    'place, bucket',
  );
  const byValue = Map.groupBy(rows, ({ value }) => value);
  return [...byValue].map(([value, own]) => ({ ...dataOf(own), breakdown_value: valuesOf(value, breakdown) }));
}

/** The width of bins where all took the same time. */
const LONE_BIN_SECONDS = 60;
const MAX_BINS = 90;
const MAX_AUTOMATIC_BINS = 60;

async function timeToConvert(funnel: Funnel, world: World): Promise<unknown> {
  const { shape, breakdown, filter, from, to } = funnel;
  if (breakdown !== undefined) invalid('breakdownFilter', 'The time to convert has no breakdown.');
  const converted = select({
    columns: { took: microsecondsBetween(from, to) },
    from: furthestOf(shape),
    where: hasReached(to + 1),
  });
  const everything = { partitionBy: [] };
  const [seconds, low, high, total] = [field('seconds'), field('low'), field('high'), field('total')];
  const took = field('took');
  const known = select({
    columns: {
      seconds: inSeconds(took),
      low: call('floor', inSeconds(over('min', [took], everything))),
      high: call('ceil', inSeconds(over('max', [took], everything))),
      average: inSeconds(over('avg', [took], everything)),
      total: over('count', [took], everything),
    },
    from: converted,
  });
  // About the cube root of the persons.
  const automatic = Array.from({ length: MAX_AUTOMATIC_BINS - 1 }, (_, n) => n + 1);
  const bins =
    typeof filter.binCount === 'number'
      ? constant(Math.min(Math.max(filter.binCount, 1), MAX_BINS))
      : call(
          'multiIf',
          ...automatic.flatMap((n) => [call('lessOrEquals', total, constant(n ** 3)), constant(n)]),
          constant(MAX_AUTOMATIC_BINS),
        );
  const span = call('ceil', call('divide', call('minus', high, low), field('bins')));
  const measured = select({
    columns: { seconds, low, high, average: field('average'), bins },
    from: known,
  });
  const width = call('if', call('greater', span, constant(0)), span, constant(LONE_BIN_SECONDS));
  const widths = select({
    columns: { seconds, low, average: field('average'), bins: field('bins'), width },
    from: measured,
  });
  const bin = call('floor', call('divide', call('minus', seconds, low), field('width')));
  const names = ['bin', 'low', 'width', 'bins', 'average'];
  const binned = select({ columns: { ...fieldsOf(names), bin }, from: widths });
  const counted = select({
    columns: { ...fieldsOf(names), persons: call('count') },
    from: binned,
    groupBy: names.map((name) => field(name)),
  });
  const rows = await ask(funnel, counted, world);
  const [first] = rows;
  if (first === undefined) return { bins: [], average_conversion_time: null };
  const persons = new Map(rows.map((row) => [Number(row['bin']), Number(row['persons'])]));
  const [start, step_, count] = [Number(first['low']), Number(first['width']), Number(first['bins'])];
  return {
    bins: Array.from({ length: count + 1 }, (_, n) => [start + n * step_, persons.get(n) ?? 0]),
    average_conversion_time: Number(first['average']),
  };
}

async function actors(query: FunnelsQuery, selection: ChosenNumber, world: World): Promise<Question> {
  const funnel = await funnelOf(query, world);
  const { shape, range, breakdown, from, to } = funnel;
  const by = query.funnelsFilter?.funnelAggregateByHogQL ?? '';
  if (by !== '' && by !== 'person_id')
    return invalid('source__source__funnelsFilter', 'The funnel counts no persons: it has `funnelAggregateByHogQL`.');
  const ofValue = (value: ChosenNumber['funnelStepBreakdown'], others: readonly Syntax[]): Syntax[] => {
    if (breakdown === undefined || value === undefined) return [];
    const told = [value].flat().map((one) => (one === '' ? MISSING : String(one)));
    const isValue = call('equals', field('value'), constant(told.join(SEPARATOR)));
    return [told.join() === OTHER ? any([isValue, ...others]) : isValue];
  };
  const start = selection.funnelTrendsEntrancePeriodStart;
  const questionOf = (persons: Syntax, conditions: readonly Syntax[], others: readonly Syntax[] = []): Question => ({
    hogql: 'SELECT DISTINCT actor AS actor_id FROM {persons} AS persons WHERE {condition}',
    values: { persons, condition: all([...conditions, ...ofValue(selection.funnelStepBreakdown, others)]) },
    from: range.from,
    to: range.to,
  });
  if (start !== undefined) {
    const { buckets, index } = bucketOf(funnel, world);
    const bucket = buckets.findIndex(
      ({ day }) => day === start || day === `${start}:00` || day.startsWith(`${start} `),
    );
    if (bucket < 0) return invalid('source__funnelTrendsEntrancePeriodStart', 'The funnel has no such period.');
    const isDropOff = selection.funnelTrendsDropOff === true;
    const reached = isDropOff ? [hasReached(from + 1), call('not', hasReached(to + 1))] : [hasReached(to + 1)];
    return questionOf(furthestOf(shape, { bucket: index }), [
      call('equals', field('bucket'), constant(bucket)),
      ...reached,
    ]);
  }
  const number = selection.funnelStep ?? 1;
  if (number === 0 || number === -1 || Math.abs(number) > shape.steps.length)
    return invalid(
      'source__funnelStep',
      `A step is 1 to ${shape.steps.length}, or for those who dropped off, -2 and less.`,
    );
  const isAt = number > 0 ? hasReached(number) : call('equals', field('furthest'), constant(Math.abs(number) - 1));
  const persons = furthestOf(shape);
  if (breakdown === undefined) return questionOf(persons, [isAt]);
  return questionOf(placedOf(shape, persons), [isAt], [isBeyond(breakdown)]);
}
