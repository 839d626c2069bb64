/**
 * Counts how often a piece of work took its process down: a small file for each that is under way, written before it
 * starts and removed when it has ended in order. The files outlive the service, so a kill of all its processes counts
 * too; a power cut may lose the newest, and is not the work's doing.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Work that took its process down so often is not begun again. */
export const MOST_DEATHS = 3;

export interface UnderWay {
  /** Counts a beginning. Returns how often the work was begun before without coming to an end in order. */
  begin(subject: string): number;
  /** It has ended in order, or is not to be begun again. */
  end(subject: string): void;
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
      end: (subject) => void counts.delete(subject),
    };
  mkdirSync(folder, { recursive: true });
  const place = (subject: string): string => join(folder, createHash('sha256').update(subject).digest('hex'));
  return {
    begin: (subject) => {
      const before = countIn(place(subject));
      writeFileSync(place(subject), String(before + 1));
      return before;
    },
    end: (subject) => rmSync(place(subject), { force: true }),
  };
}

function countIn(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    return 0;
  }
}
