/** Refusals of a config, in PostHog's words where it has some. */

import { inQuotes } from '../../basics/text.ts';
import { invalid } from '../../ports/errors.ts';

/** Throws the `Failure` that refuses a config. */
export function refuseConfig(detail: string): never {
  invalid('destination', detail);
}

/** Returns a list as PostHog's texts show it. */
export const listed = (words: readonly string[]): string => `[${inQuotes(words)}]`;

/** Throws a `Failure` when one of these texts of a config is empty. */
export function checkFilled<K extends string>(config: Readonly<Record<K, string>>, keys: readonly K[]): void {
  const empty = keys.filter((key) => config[key].trim() === '');
  if (empty.length > 0) refuseConfig(`The following inputs are empty: ${listed(empty)}`);
}
