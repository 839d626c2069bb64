/** Asking again while something moves: soon while it does, less and less often while nothing changes. */
import { MINUTE_MS } from '../../basics/units.ts';

const FIRST_MS = 1_000;
const GROWTH = 1.5;
const LONGEST_MS = 30_000;
/** Nobody waits for longer before what they have just sent. */
const AWAITED_MS = 3_000;

interface Asked {
  readonly state: { readonly data: unknown; readonly dataUpdateCount: number; readonly errorUpdateCount: number };
}

/** What a query had when something in it last changed: equal answers are the same object. */
const changed = new WeakMap<object, { readonly data: unknown; readonly answers: number }>();

/**
 * Returns the option of a query that asks again while `isLive`. It begins at a second, waits half as long again after
 * each answer that says nothing new, and at most half a minute, or while somebody waits for what `isAwaited` three
 * seconds. A refusal says nothing new, and what has never been answered is for the reader to ask again: a page that did
 * would take away again and again what it says is wrong. A tab that nobody sees does not ask.
 */
export const polled =
  <Data>(isLive: (data: Data) => boolean, isAwaited: (data: Data) => boolean = () => false) =>
  (query: Asked): number | false => {
    const { data, dataUpdateCount, errorUpdateCount } = query.state;
    if (data === undefined || !isLive(data as Data)) return false;
    const answers = dataUpdateCount + errorUpdateCount;
    const last = changed.get(query);
    if (last === undefined || last.data !== data) {
      changed.set(query, { data, answers });
      return FIRST_MS;
    }
    const longest = isAwaited(data as Data) ? AWAITED_MS : LONGEST_MS;
    return Math.min(longest, FIRST_MS * GROWTH ** (answers - last.answers));
  };

/** Of a query that always may have something new: exports, alerts and subscriptions go on by themselves. */
export const live = polled<unknown>(() => true);

/**
 * The option of a query whose answer changes by itself now and then: it asks again each minute. As with `polled`, what has
 * never been answered is for the reader to ask again, and a tab that nobody sees does not ask.
 */
export const eachMinute = ({ state }: Asked): number | false => (state.data === undefined ? false : MINUTE_MS);
