/** Reads results, which are JSON: what is not as it should be is read as nothing. */

export type Json = Readonly<Record<string, unknown>>;

/** Returns an object; anything else is one without members. */
export const object = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

/** Returns a list; anything else is empty. */
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Returns a list of objects. */
export const objects = (value: unknown): readonly Json[] => list(value).map(object);

/** Beyond this, nothing can be drawn, and sums are no numbers any more. */
const GREATEST = 1e100;

/** Returns a number that can be drawn; null for anything else. Integers beyond 2^53 come as texts. */
export function number(value: unknown): number | null {
  const read = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof read === 'number' && Math.abs(read) < GREATEST ? read : null;
}

/** Returns a text; null for anything else. */
export const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** A value of `days`: a day, or a time of it, by the clock of the project's zone. */
const DAY = /^\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}:\d{2})?$/;

/** Returns what the clock shows at a value of `days`, in milliseconds as if it were UTC; `NaN` for anything else. */
export function clockOf(day: unknown): number {
  const said = text(day) ?? '';
  return DAY.test(said) ? Date.parse(said.length > 10 ? `${said.replace(' ', 'T')}Z` : said) : NaN;
}

/** What PostHog calls all values of a breakdown that are beyond its limit, and that of events that have none. */
export const OTHER = '$$_posthog_breakdown_other_$$';
export const MISSING = '$$_posthog_breakdown_null_$$';

/** What people read for the rest of a breakdown's values, and for what has none. */
export const OTHER_VALUES = 'Other values';
export const NO_VALUE = 'No value';

/** Returns a name as people read it: PostHog's names of what is missing and of the rest in words. */
export function readableName(name: string): string {
  if (name.trim() === '') return NO_VALUE;
  return name.replaceAll(OTHER, OTHER_VALUES).replaceAll(MISSING, NO_VALUE);
}

/** Returns a breakdown value as people read it: the members of a list beside each other. */
export function breakdownName(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const parts = Array.isArray(value) ? value : [value];
  return parts
    .map((part) => readableName(typeof part === 'string' ? part : part === null ? '' : JSON.stringify(part)))
    .join(' · ');
}

/** Nodes that say how an answer is shown, and wrap what is asked. A query may have a `source` of its own. */
export const WRAPPERS: ReadonlySet<string> = new Set(['InsightVizNode', 'DataTableNode', 'DataVisualizationNode']);

/** Returns the query that nodes of a page wrap, with what they say of its display. */
export function shownQuery(query: unknown): Json {
  const node = object(query);
  if (!WRAPPERS.has(text(node['kind']) ?? '')) return node;
  const { display, chartSettings } = node;
  return {
    ...shownQuery(node['source']),
    ...(display === undefined ? {} : { display }),
    ...(chartSettings === undefined ? {} : { chartSettings }),
  };
}
