/** Asking again while something moves: soon while it does, less and less often while nothing changes. */

const FIRST_MS = 1_000;
const GROWTH = 1.5;
const LONGEST_MS = 30_000;

interface Asked {
  readonly state: { readonly data: unknown; readonly dataUpdateCount: number };
}

/** What a query had when something in it last changed: equal answers are the same object. */
const changed = new WeakMap<object, { readonly data: unknown; readonly answers: number }>();

/**
 * Returns the option of a query that asks again while `isLive`. It begins at a second, waits half as long again after
 * each answer that says nothing new, and at most half a minute. A tab that nobody sees does not ask.
 */
export const polled =
  <Data>(isLive: (data: Data | undefined) => boolean) =>
  (query: Asked): number | false => {
    const { data, dataUpdateCount: answers } = query.state;
    if (!isLive(data as Data | undefined)) return false;
    const last = changed.get(query);
    if (last === undefined || last.data !== data) {
      changed.set(query, { data, answers });
      return FIRST_MS;
    }
    return Math.min(LONGEST_MS, FIRST_MS * GROWTH ** (answers - last.answers));
  };
