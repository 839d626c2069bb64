import type { Place } from '../../charts/places.ts';

/** Returns the rules of a style sheet by which `.t0`, `.t1` ... stand at their places, on pages that are wide enough. */
export function layoutStyle(places: readonly Place[]): string {
  const rules = places.map(
    ({ x, y, w, h }, at) => `.t${at} { grid-column: ${x + 1} / span ${w}; grid-row: ${y + 1} / span ${h}; }`,
  );
  return `@media (min-width: 48rem) {\n${rules.join('\n')}\n}\n`;
}
