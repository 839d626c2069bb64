/** A query or filter that is not supported, and the text that its author reads. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Where in the text that was read the fault is, in characters from 0, the end exclusive; absent: it is not known. */
  place: Place | undefined;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

export function refuse(text: string): never {
  throw new Refusal(text);
}

/** Returns what the work gives; a refusal that has no place yet is of this part of the text. */
export function within<T>(part: object, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal) error.place ??= placeOf(part);
    throw error;
  }
}

/** The place of what the parser made. */
function placeOf(part: object): Place | undefined {
  const { start, end } = part as { readonly start?: Partial<Position>; readonly end?: Partial<Position> };
  const [from, to] = [start?.offset, end?.offset];
  return from === undefined || to === undefined ? undefined : { start: Math.min(from, to), end: Math.max(from, to) };
}

interface Position {
  readonly offset: number;
}
