/**
 * Counts how often a piece of work took its process down, and how often the whole service ended while it was under way,
 * which may have any reason: a small file for each piece, written before it starts and taken back when it has ended in
 * order. The files outlive the service; a power cut may lose the newest.
 */
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../basics/units.ts';

/** How often work has not come to an end in order. */
export interface Deaths {
  /** It took its process down, and the service went on. */
  readonly own: number;
  /** The whole service ended. Work of the same subject that is under way now counts as well. */
  readonly withService: number;
}

/** Work that has died so often is not begun again: what takes the whole service down has to end, too, but seldom is why it ends. */
export const MOST_DEATHS: Deaths = { own: 3, withService: 10 };

/** What is about work that nobody asked for again for so long is forgotten. */
const FORGOTTEN_AFTER_MS = 7 * DAY_MS;

interface UnderWay {
  /** Counts a beginning. Returns how often the work was begun before without coming to an end in order. */
  begin(subject: string): Deaths;
  /** A beginning has come to its end, which counts only if it took its process down. */
  end(subject: string, hasDied: boolean): void;
}

const NONE: Deaths = { own: 0, withService: 0 };

const begun = ({ own, withService }: Deaths): Deaths => ({ own, withService: withService + 1 });

const ended = ({ own, withService }: Deaths, hasDied: boolean): Deaths => ({
  own: own + (hasDied ? 1 : 0),
  withService: Math.max(0, withService - 1),
});

const isNone = ({ own, withService }: Deaths): boolean => own === 0 && withService === 0;

/** Where the counts are: of what is not there nothing is known. */
interface Counts {
  read(subject: string): Deaths;
  write(subject: string, deaths: Deaths): void;
}

/** Keeps the counts in a folder, or without one in this process. */
export function underWay(folder?: string): UnderWay {
  const counts = folder === undefined ? countsHere() : countsIn(folder);
  return {
    begin: (subject) => {
      const before = counts.read(subject);
      counts.write(subject, begun(before));
      return before;
    },
    end: (subject, hasDied) => counts.write(subject, ended(counts.read(subject), hasDied)),
  };
}

function countsHere(): Counts {
  const counts = new Map<string, Deaths>();
  return {
    read: (subject) => counts.get(subject) ?? NONE,
    write: (subject, deaths) => void (isNone(deaths) ? counts.delete(subject) : counts.set(subject, deaths)),
  };
}

function countsIn(folder: string): Counts {
  mkdirSync(folder, { recursive: true });
  const place = (subject: string): string => join(folder, hash('sha256', subject));
  let isSwept = false;
  return {
    read: (subject) => {
      if (!isSwept) forgetOld(folder);
      isSwept = true;
      return deathsIn(place(subject));
    },
    write: (subject, deaths) => {
      if (isNone(deaths)) rmSync(place(subject), { force: true });
      else writeFileSync(place(subject), textOf(deaths));
    },
  };
}

function forgetOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (statSync(file).mtimeMs < Date.now() - FORGOTTEN_AFTER_MS) rmSync(file, { force: true });
  }
}

const textOf = ({ own, withService }: Deaths): string => `${withService} ${own}`;

function deathsIn(file: string): Deaths {
  try {
    const [withService = 0, own = 0] = readFileSync(file, 'utf8').split(' ').map(Number);
    return { own: own || 0, withService: withService || 0 };
  } catch {
    return NONE;
  }
}
