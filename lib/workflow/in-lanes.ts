import type { IdleTracker } from './idle-tracker.ts';

/**
 * Runs what waits in so many lanes, in each of them one after another, until nothing waits or the signal is aborted.
 * `run` does not reject. Whoever calls is active, and so is every lane: one that is suspended leaves the others active.
 */
export async function inLanes<T>(
  {
    waiting,
    lanes,
    signal,
    tracker,
  }: {
    readonly waiting: IteratorObject<T>;
    readonly lanes: number;
    readonly signal: AbortSignal;
    readonly tracker: IdleTracker;
  },
  run: (one: T) => Promise<void>,
): Promise<void> {
  let open = lanes;
  const lane = async (): Promise<void> => {
    for (const one of waiting) {
      if (signal.aborted) break;
      await run(one);
    }
    // The caller is active through its lanes; the last one hands that back.
    open -= 1;
    if (open > 0) tracker.leave();
  };
  for (let more = 1; more < lanes; more += 1) tracker.enter();
  await Promise.all(Array.from({ length: lanes }, lane));
}
