import { wasLately } from './lately.ts';

/**
 * Returns what counts its calls and passes the last one on, with how many there were since it passed one on before: the first
 * at once, later ones once in so many milliseconds. So what happens to many at once is one line of a log.
 */
export function toldAtMost<T>(
  { eachMs, clock }: { readonly eachMs: number; readonly clock: () => number },
  tell: (calls: number, last: T) => void,
): (last: T) => void {
  let [calls, toldAt] = [0, Number.NEGATIVE_INFINITY];
  return (last) => {
    calls += 1;
    if (wasLately(toldAt, clock(), eachMs)) return;
    tell(calls, last);
    [calls, toldAt] = [0, clock()];
  };
}
