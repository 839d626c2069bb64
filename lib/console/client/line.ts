/** Does what it is given in the order in which it came, so many at a time. */
export type Line = <T>(act: () => Promise<T>, left: AbortSignal) => Promise<T>;

/** Returns a line. What nobody waits for any more leaves it, with the signal's reason. */
export function lineOf(atOnce: number): Line {
  const waiting = new Set<() => void>();
  let underWay = 0;

  const place = (left: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.add(resolve);
      left.addEventListener('abort', () => {
        if (waiting.delete(resolve)) reject(left.reason as Error);
      });
    });

  return async (act, left) => {
    left.throwIfAborted();
    if (underWay < atOnce) underWay += 1;
    else await place(left);
    try {
      return await act();
    } finally {
      const [next] = waiting;
      if (next === undefined) underWay -= 1;
      else {
        waiting.delete(next);
        next();
      }
    }
  };
}
