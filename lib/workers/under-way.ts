/**
 * Counts how often a piece of work took its process down: a small file for each that is under way, written before it
 * starts and taken back when it has ended in order. The files outlive the service, so a kill of all its processes counts
 * too; a power cut may lose the newest, and is not the work's doing.
 */
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../basics/units.ts';

/** Work that took its process down so often is not begun again. */
export const MOST_DEATHS = 3;

/** What is about work that nobody asked for again for so long is forgotten. */
const FORGOTTEN_AFTER_MS = 7 * DAY_MS;

interface UnderWay {
  /** Counts a beginning. Returns how often the work was begun before without coming to an end in order. */
  begin(subject: string): number;
  /** The beginning after so many others has come to an end in order, and does not count. */
  end(subject: string, before: number): void;
}

/** Keeps the counts in a folder, or without one in this process. */
export function underWay(folder?: string): UnderWay {
  const counts = new Map<string, number>();
  if (folder === undefined)
    return {
      begin: (subject) => {
        const before = counts.get(subject) ?? 0;
        counts.set(subject, before + 1);
        return before;
      },
      end: (subject, before) => void (before === 0 ? counts.delete(subject) : counts.set(subject, before)),
    };
  mkdirSync(folder, { recursive: true });
  const place = (subject: string): string => join(folder, hash('sha256', subject));
  let isSwept = false;
  return {
    begin: (subject) => {
      if (!isSwept) forgetOld(folder);
      isSwept = true;
      const file = place(subject);
      const before = countIn(file);
      writeFileSync(file, String(before + 1));
      return before;
    },
    end: (subject, before) => {
      if (before === 0) rmSync(place(subject), { force: true });
      else writeFileSync(place(subject), String(before));
    },
  };
}

function forgetOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (statSync(file).mtimeMs < Date.now() - FORGOTTEN_AFTER_MS) rmSync(file, { force: true });
  }
}

function countIn(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    return 0;
  }
}
