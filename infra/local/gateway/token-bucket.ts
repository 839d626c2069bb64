import { getOrMake } from '../../../lib/basics/maps.ts';
import { Recent } from '../../../lib/basics/recent.ts';

/** Requests per second that are let through in the long run, and how many at once before that counts. */
export interface RateLimit {
  readonly rate: number;
  readonly burst: number;
}

/** What API Gateway gives an account in a Region: 10,000 requests a second, 5,000 at once. */
export const DEFAULT_RATE_LIMIT: RateLimit = { rate: 10_000, burst: 5_000 };

/** True for every request that is let through. `now` is in milliseconds and never goes back by itself. */
export function tokenBucket(limit: RateLimit): (now: number) => boolean {
  const bucket = new Bucket(limit);
  return (now) => bucket.take(now, 1) === 0;
}

/** As many names have a bucket; of more, those that were used longest ago begin anew. */
const MAX_BUCKETS = 10_000;

/**
 * A bucket for each name. Returns 0 for what is let through, else in how many milliseconds something of that name would
 * be. What costs more than there is goes through where anything is there; the rest is owed.
 */
export function tokenBuckets(limit: RateLimit): (name: string, now: number, cost?: number) => number {
  const buckets = new Recent<Bucket>(MAX_BUCKETS);
  return (name, now, cost = 1) => getOrMake(buckets, name, () => new Bucket(limit)).take(now, cost);
}

class Bucket {
  readonly #limit: RateLimit;
  #tokens: number;
  #filledAt: number | undefined;

  constructor(limit: RateLimit) {
    this.#limit = limit;
    this.#tokens = limit.burst;
  }

  /** Returns 0 when it was taken, else after how many milliseconds it might be. */
  take(now: number, cost: number): number {
    const { rate, burst } = this.#limit;
    const elapsed = Math.max(0, now - (this.#filledAt ?? now));
    this.#filledAt = now;
    this.#tokens = Math.min(burst, this.#tokens + (elapsed * rate) / 1000);
    if (this.#tokens < 1) return ((1 - this.#tokens) * 1000) / rate;
    this.#tokens -= cost;
    return 0;
  }
}
