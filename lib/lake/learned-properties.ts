/**
 * Properties that queries of a project read often get columns of their own in its files, beside those of every project
 * (`hot-properties.ts`). They are learned from counts, which are but a hint: who writes a file reads the list, who reads a
 * file asks the file.
 */

import { messageOf } from '../basics/text.ts';
import { DAY_MS, MINUTE_MS } from '../basics/units.ts';
import type { Context } from '../ports/context.ts';
import { fromJsonText, type JsonText, toJsonText } from '../ports/table/json-text.ts';
import { keys } from '../ports/table/keys.ts';
import type { Item, Table } from '../ports/table/table.ts';
import { tryWrite } from '../ports/table/until-written.ts';
import { isHot } from './hot-properties.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    propertyReads: PropertyReadsItem;
  }
}

/** How often questions of a project have read a property, by its name. */
type Counts = Readonly<Record<string, number>>;

/** What was learned of a project. */
interface Learned {
  /** In the order in which they were learned. */
  readonly properties: readonly string[];
  readonly counts: Counts;
  /** When the counts were halved last, milliseconds since 1970. */
  readonly halvedAt: number;
}

interface PropertyReadsItem extends Item {
  readonly learned: JsonText<Learned>;
  readonly ver: number;
}

/** A project has so many columns of its own: each is written with every file. */
const MOST_LEARNED = 8;
/** A property that was read so often is worth a column. */
const LEAST_READS = 20;
/** One whose count is less when the counts are halved is worth none any more. */
const KEPT_READS = 5;
/** Counts are halved once a week, and only then a property is forgotten: files change their columns rarely. */
const HALVED_MS = 7 * DAY_MS;
/** So many names are counted. */
const MOST_COUNTED = 100;
/** A process flushes what it has counted of a project after so many answers, or so long after it did so last. */
const FLUSH_ANSWERS = 10;
const FLUSH_MS = 10 * MINUTE_MS;

/** Names that stand in a column's name and in a path as they are; any other property is read as before. */
const LEARNABLE = /^[\w$][\w$ .:/-]{0,99}$/;

const isLearnable = (name: string): boolean => LEARNABLE.test(name) && !isHot(name);

/** Returns what is learned when properties were read so many times more. */
export function afterReads({ properties, counts, halvedAt }: Learned, reads: Counts, now: number): Learned {
  const isWeekOver = halvedAt + HALVED_MS <= now;
  const sums = new Map(Object.entries(counts));
  for (const [name, count] of Object.entries(reads)) sums.set(name, (sums.get(name) ?? 0) + count);
  const kept = properties.filter((name) => !isWeekOver || (sums.get(name) ?? 0) >= KEPT_READS);
  const ranked = [...sums].toSorted(([, a], [, b]) => b - a);
  for (const [name, count] of ranked) {
    if (kept.length >= MOST_LEARNED || count < LEAST_READS) break;
    // Names of columns differ in more than letter case.
    if (!kept.some((known) => known.toLowerCase() === name.toLowerCase())) kept.push(name);
  }
  const counted = ranked
    .filter(([name], n) => n < MOST_COUNTED || kept.includes(name))
    .map(([name, count]) => [name, isWeekOver ? Math.floor(count / 2) : count] as const);
  return { properties: kept, counts: Object.fromEntries(counted), halvedAt: isWeekOver ? now : halvedAt };
}

/** Returns the properties of a project that have columns in the files that are written now. */
export async function learnedProperties(table: Pick<Table, 'get'>, projectId: number): Promise<readonly string[]> {
  const item = await table.get(keys.propertyReads(projectId));
  return item === undefined ? [] : fromJsonText(item.learned).properties;
}

interface PropertyReads {
  /** Counts the properties that the questions of an answer have read. Never throws: what cannot be flushed is lost. */
  note(projectId: number, properties: readonly string[]): Promise<void>;
}

/** Returns what counts for one process, and flushes it to the table now and then. */
export function propertyReads({ table, clock, log }: Pick<Context, 'table' | 'clock' | 'log'>): PropertyReads {
  const pending = new Map<number, { readonly counts: Map<string, number>; answers: number }>();
  const flushedAt = new Map<number, number>();

  /** Adds to what is in the table. Where another process was first, what this one has counted is lost. */
  const flush = async (projectId: number, reads: Counts): Promise<void> => {
    const at = keys.propertyReads(projectId);
    const before = await table.get(at);
    const now = clock();
    const known = before && fromJsonText(before.learned);
    const learned = afterReads(known ?? { properties: [], counts: {}, halvedAt: now }, reads, now);
    const put = { ...at, learned: toJsonText(learned), ver: (before?.ver ?? 0) + 1 };
    await tryWrite(table, [{ put, if: before === undefined ? 'absent' : { is: { ver: before.ver } } }]);
  };

  return {
    note: async (projectId, properties) => {
      const names = properties.filter(isLearnable);
      if (names.length === 0) return;
      const found = pending.get(projectId) ?? { counts: new Map<string, number>(), answers: 0 };
      const { counts } = found;
      for (const name of names)
        if (counts.has(name) || counts.size < MOST_COUNTED) counts.set(name, (counts.get(name) ?? 0) + 1);
      found.answers += 1;
      pending.set(projectId, found);
      if (found.answers < FLUSH_ANSWERS && clock() < (flushedAt.get(projectId) ?? 0) + FLUSH_MS) return;
      flushedAt.set(projectId, clock());
      pending.delete(projectId);
      try {
        await flush(projectId, Object.fromEntries(counts));
      } catch (error) {
        log.warning('what queries read could not be counted', { project: projectId, reason: messageOf(error) });
      }
    },
  };
}
