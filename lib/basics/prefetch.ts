/**
 * Yields what the source does, and asks for the next one while one is worked on. Who stops early stops the source, once the
 * next one has come.
 */
export async function* prefetch<T>(source: AsyncGenerator<T>): AsyncGenerator<T, undefined> {
  let next = source.next();
  try {
    for (let one = await next; one.done !== true; one = await next) {
      next = source.next();
      // Its failure is met when it is asked for.
      next.catch(() => {});
      yield one.value;
    }
  } finally {
    await next.catch(() => {});
    await source.return(undefined);
  }
}
