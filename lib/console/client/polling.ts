/** Asking again while something moves: soon while it does, less and less often while nothing changes. */

const FIRST_MS = 1_000;
const GROWTH = 1.5;
const LONGEST_MS = 30_000;
/** Nobody waits for longer before what they have just sent. */
const AWAITED_MS = 3_000;

interface Asked {
  readonly state: { readonly data: unknown; readonly dataUpdateCount: number };
}

/** What a query had when something in it last changed: equal answers are the same object. */
const changed = new WeakMap<object, { readonly data: unknown; readonly answers: number }>();

/**
 * Returns the option of a query that asks again while `isLive`. It begins at a second, waits half as long again after
 * each answer that says nothing new, and at most half a minute, or while somebody waits for what `isAwaited` three
 * seconds. A tab that nobody sees does not ask.
 */
export const polled =
  <Data>(isLive: (data: Data | undefined) => boolean, isAwaited: (data: Data | undefined) => boolean = () => false) =>
  (query: Asked): number | false => {
    const { data, dataUpdateCount: answers } = query.state;
    if (!isLive(data as Data | undefined)) return false;
    const last = changed.get(query);
    if (last === undefined || last.data !== data) {
      changed.set(query, { data, answers });
      return FIRST_MS;
    }
    const longest = isAwaited(data as Data | undefined) ? AWAITED_MS : LONGEST_MS;
    return Math.min(longest, FIRST_MS * GROWTH ** (answers - last.answers));
  };
