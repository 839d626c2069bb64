/**
 * Returns what does what it is given in the order in which it came, so many at a time. What nobody waits for any more is not
 * done: it ends with the signal's reason.
 */
export function sideBySide(atOnce: number): <T>(act: () => Promise<T>, left: AbortSignal) => Promise<T> {
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
