/** Where tiles stand on a page: as their layouts say, each as far up as there is room. */

/** Layouts are made for a grid of so many columns. */
const COLUMNS = 12;
/** What a tile without a layout is like; PostHog's are so large. */
const DEFAULT = { w: 6, h: 5 };
const MAX_HEIGHT = 60;

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** Returns the places of tiles, in their order; none covers another one. */
export function placesOf(layouts: readonly unknown[]): Place[] {
  const heights = Array.from({ length: COLUMNS }, () => 0);
  const topOf = (x: number, w: number): number => Math.max(...heights.slice(x, x + w));
  return layouts.map((layout) => {
    const { sm } = layout as { sm?: { x?: unknown; w?: unknown; h?: unknown } | null };
    const w = within(sm?.w, 1, COLUMNS) ?? DEFAULT.w;
    const h = within(sm?.h, 1, MAX_HEIGHT) ?? DEFAULT.h;
    const sent = within(sm?.x, 0, COLUMNS - 1);
    // Without a column it stands where it comes highest.
    const x = sent === undefined ? highest(topOf, w) : Math.min(sent, COLUMNS - w);
    const y = topOf(x, w);
    heights.fill(y + h, x, x + w);
    return { x, y, w, h };
  });
}

function highest(topOf: (x: number, w: number) => number, w: number): number {
  let best = 0;
  for (let x = 0; x <= COLUMNS - w; x += w) if (topOf(x, w) < topOf(best, w)) best = x;
  return best;
}

/** Returns a whole number between two; undefined for what is no number. */
const within = (value: unknown, least: number, most: number): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? Math.min(Math.max(Math.round(value), least), most) : undefined;

/** Returns the rules of a style sheet by which `.t0`, `.t1` ... stand at their places, on pages that are wide enough. */
export function layoutStyle(places: readonly Place[]): string {
  const rules = places.map(
    ({ x, y, w, h }, at) => `.t${at} { grid-column: ${x + 1} / span ${w}; grid-row: ${y + 1} / span ${h}; }`,
  );
  return `@media (min-width: 48rem) {\n${rules.join('\n')}\n}\n`;
}
