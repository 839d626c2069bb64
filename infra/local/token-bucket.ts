/** Requests per second that are let through in the long run, and how many at once before that counts. */
export interface RateLimit {
  readonly rate: number;
  readonly burst: number;
}

/** What API Gateway gives an account in a Region: 10,000 requests a second, 5,000 at once. */
export const DEFAULT_RATE_LIMIT: RateLimit = { rate: 10_000, burst: 5_000 };

/** True for every request that is let through. `now` is in milliseconds and never goes back by itself. */
export function tokenBucket({ rate, burst }: RateLimit): (now: number) => boolean {
  let tokens = burst;
  let filledAt: number | undefined;
  return (now) => {
    const elapsed = Math.max(0, now - (filledAt ?? now));
    filledAt = now;
    tokens = Math.min(burst, tokens + (elapsed * rate) / 1000);
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
