/** How far the persons of a funnel get, as a query. */
import type { Syntax } from '../../../hogql/syntax.ts';
import { type Columns, call, constant, field, fieldsOf, select } from '../../../hogql/write.ts';
import { areRunsApart, bestRunsOf, type FunnelShape, keyOf, runsOf } from './funnel-runs.ts';

/** Numbers, as ranks go by how many steps were reached, and of as many by who was first. */
const RANK_STEP = 2 ** 52;

/**
 * Returns a query whose rows are persons (with a breakdown, persons and values; and `more` that tells runs apart): how
 * many steps they reached (`furthest`), and the times `u0` and so on of the run that got there first. Of runs that end
 * together the one that begins last counts. A person whose furthest run is excluded is not there.
 */
export function furthestOf(shape: FunnelShape, more: Columns = {}): Syntax {
  const keys = [...keyOf(shape), ...Object.keys(more)];
  const kept = { ...fieldsOf(keyOf(shape)), ...more };
  const same = fieldsOf(keys);
  const rank = call('minus', call('multiply', field('reached'), constant(RANK_STEP)), field('done'));
  if (
    areRunsApart(shape) &&
    (shape.order === 'strict' || (shape.order === 'ordered' && Object.keys(more).length === 0))
  )
    return select({
      columns: {
        ...same,
        furthest: call('max', field('reached')),
        ...Object.fromEntries(shape.steps.map((_, n) => [`u${n}`, call('argMax', field(`t${n}`), rank)])),
      },
      from: select({
        columns: { ...kept, ...fieldsOf(['reached', 'done', ...shape.steps.map((_, n) => `t${n}`)]) },
        from: shape.order === 'strict' ? runsOf(shape) : bestRunsOf(shape),
      }),
      groupBy: keys.map((name) => field(name)),
    });
  const hasExclusions = shape.exclusions.length > 0;
  const ends = select({
    columns: {
      ...kept,
      reached: field('reached'),
      is_excluded: field('is_excluded'),
      done: field('done'),
      ...Object.fromEntries(shape.steps.map((_, n) => [`b${n}`, call('max', field(`t${n}`))])),
    },
    from: runsOf(shape),
    groupBy: [...keys, 'reached', 'is_excluded', 'done'].map((name) => field(name)),
  });
  const isClean = call('not', field('is_excluded'));
  const ofClean = (name: string, ...of: Syntax[]): Syntax =>
    hasExclusions ? call(`${name}If`, ...of, isClean) : call(name, ...of);
  const furthest = select({
    columns: {
      ...same,
      of_all: call('max', field('reached')),
      furthest: ofClean('max', field('reached')),
      ...Object.fromEntries(shape.steps.map((_, n) => [`u${n}`, ofClean('argMax', field(`b${n}`), rank)])),
    },
    from: ends,
    groupBy: keys.map((name) => field(name)),
  });
  if (!hasExclusions) return furthest;
  const columns = { ...same, furthest: field('furthest'), ...fieldsOf(shape.steps.map((_, n) => `u${n}`)) };
  return select({ columns, from: furthest, where: call('equals', field('furthest'), field('of_all')) });
}

/** The condition that a person of `furthestOf` reached so many steps. */
export const hasReached = (steps: number): Syntax => call('greaterOrEquals', field('furthest'), constant(steps));
