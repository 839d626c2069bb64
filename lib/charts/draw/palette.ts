/** Colours and patterns of series, as classes of the style sheet: a page's policy lets no element have styles. */

/**
 * Colours of a light page: each stands out from it by 3 to 1, and any two are apart by at least 0.1 in Oklab for those who
 * see all colours and for those who lack a cone.
 */
export const LIGHT = ['#11397b', '#cb7229', '#41a083', '#bb1cb5', '#756127', '#7e55f0', '#0d6277', '#791038'] as const;
/** The same for a dark page. */
export const DARK = ['#0c84fa', '#fe860f', '#2fcda3', '#b86797', '#f4e06a', '#b7a1f5', '#99f7fc', '#d73337'] as const;

/** Lines that have the same colour differ in their dashes; of these there are so many. */
export const DASHES = ['none', '7 4', '2 4', '10 4 2 4'] as const;

/** Returns the classes of a series: its colour, and what tells it from others of that colour. */
export function seriesClass({ colour, isPrevious }: { colour: number; isPrevious: boolean }): string {
  const round = Math.floor(colour / LIGHT.length) % DASHES.length;
  return `c${colour % LIGHT.length}${round > 0 ? ` d${round}` : ''}${isPrevious ? ' previous' : ''}`;
}
