import { MIB } from '../../../lib/basics/units.ts';

/** Bytes of bodies, of requests or of answers, that are held in memory at a time. */
export interface BodyLimits {
  /** Of one sender. */
  readonly each: number;
  /** Of all of them. */
  readonly all: number;
  /** Beside these, for senders of whom no more than `LITTLE_BYTES` are held: who sends much must not keep them out. */
  readonly spare: number;
}

const LITTLE_BYTES = MIB;

/** The body of one request, or of one answer. */
export interface HeldBody {
  /** Returns whether there is room for so many bytes more, and takes it then. */
  readonly take: (bytes: number) => boolean;
  readonly isFull: () => boolean;
  readonly giveBack: () => void;
}

/** The memory for bodies; it is asked with the name of whoever sends one, or takes one. */
export type BodyRoom = (owner: string) => HeldBody;

export function bodyRoom({ each, all, spare }: BodyLimits): BodyRoom {
  const owners = new Map<string, number>();
  let sum = 0;
  return (owner) => {
    let [held, isFull] = [0, false];
    const change = (bytes: number): void => {
      const owned = (owners.get(owner) ?? 0) + bytes;
      if (owned === 0) owners.delete(owner);
      else owners.set(owner, owned);
      held += bytes;
      sum += bytes;
    };
    return {
      take: (bytes) => {
        const owned = (owners.get(owner) ?? 0) + bytes;
        isFull ||= owned > each || sum + bytes > all + (owned > LITTLE_BYTES ? 0 : spare);
        if (!isFull) change(bytes);
        return !isFull;
      },
      isFull: () => isFull,
      giveBack: () => change(-held),
    };
  };
}
