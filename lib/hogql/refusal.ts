import type { Syntax } from './syntax.ts';

/** A query or filter that is not supported, and the text that its author reads. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Where in the text that was read the fault is, in characters from 0, the end exclusive; absent: it is not known. */
  span: Span | undefined;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** What is said of a text that is no HogQL. */
export const UNREADABLE = 'Failed to parse query';

export function refuse(text: string): never {
  throw new Refusal(text);
}

/** Returns what the work gives; a refusal that has no span yet is of this part of the text. */
export function within<T>(part: object, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) error.span ??= spanOf(part);
    throw error;
  }
}

/** Returns what the work gives; a refusal is what `instead` throws of it. */
export async function refusedAs<T>(work: () => Promise<T>, instead: (refusal: Refusal) => never): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return instead(error);
    throw error;
  }
}

/** The span of what the parser made. */
function spanOf(part: object): Span | undefined {
  const { start, end } = part as { readonly start?: Partial<Position>; readonly end?: Partial<Position> };
  const [from, to] = [start?.offset, end?.offset];
  return from === undefined || to === undefined ? undefined : { start: Math.min(from, to), end: Math.max(from, to) };
}

/** Returns where a span of a text begins, as people count: `line 2, column 5`. */
export function lineAndColumn(text: string, { start }: Span): string {
  const before = Array.from(text).slice(0, start);
  const lines = before.filter((character) => character === '\n').length;
  return `line ${lines + 1}, column ${before.length - before.lastIndexOf('\n')}`;
}

/** Returns what the parser made without its places: it is to stand in another text. */
export const withoutPlaces = (syntax: Syntax): Syntax =>
  JSON.parse(JSON.stringify(syntax, (key, value) => (key === 'start' || key === 'end' ? undefined : value)));

interface Position {
  readonly offset: number;
}
