import { Busy, Refused } from './table.ts';

/** Changes by others that one write outlasts: each time it is refused, one of them was done. */
export const TRIES = 30;

/**
 * Writes as often as it takes: `attempt` reads, and writes under conditions; when one of them is refused, somebody
 * else was first, and it reads again.
 */
export async function untilWritten<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = TRIES; left > 0; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }
  throw new Busy('many others change the same object');
}
