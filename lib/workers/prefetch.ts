/**
 * Yields what the source does, and asks for the next one while one is worked on. Who stops early stops the source, once the
 * next one has come; `stop` is called before that.
 */
export async function* prefetch<T>(
  source: AsyncGenerator<T>,
  stop: () => void = () => {},
): AsyncGenerator<T, undefined> {
  let next = source.next();
  try {
    for (let one = await next; one.done !== true; one = await next) {
      next = source.next();
      // Its failure is met when it is asked for.
      next.catch(() => {});
      yield one.value;
    }
  } finally {
    stop();
    await next.catch(() => {});
    await source.return(undefined);
  }
}
