/** Answers that are kept: in memory as many as fit, in the table those that are small enough, for a week. */

import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRawSync } from 'node:zlib';
import type { ProjectItem } from '../../accounts/organizations/model.ts';
import { isObject } from '../../basics/json.ts';
import { Recent } from '../../basics/recent.ts';
import { DAY_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { pagesOf } from '../../ports/table/list-all.ts';
import type { Item, Key, Op } from '../../ports/table/table.ts';
import { ttlAt } from '../../ports/table/ttl.ts';
import type { Answer } from '../kinds/kind.ts';
import type { SentQuery } from '../kinds/source.ts';
import type { ClockUse } from './freshness.ts';
import type { Looked, Moment } from './looking-world.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    answer: AnswerItem;
  }
}

/** An answer as it is kept. */
export interface KeptAnswer {
  /** When it was computed, in milliseconds since 1970: what its relative dates are counted from. */
  readonly at: number;
  readonly answer: Answer;
  /** That of its query, where it has one. */
  readonly interval?: string;
  readonly looked: Looked;
  readonly clock: ClockUse;
  /** Of the files that it is made of. */
  readonly files: string;
}

/** An answer as it is stored. */
interface AnswerItem extends Item {
  readonly at: number;
  /** The text of a `KeptAnswer`, deflated, in base64. */
  readonly body: string;
}

/**
 * What answers are made by. A change of the program that changes answers to the same query over the same files raises
 * it, so that those from before are not given any more.
 */
const VERSION = 12;

/** Returns the key of an answer: all that it depends on beside the files and the clock. */
export function answerKey(project: number, query: SentQuery, moment: Omit<Moment, 'now'>): string {
  const said = [VERSION, project, query, moment.timezone, moment.weekStartDay, moment.testAccountFilters];
  return `cache_${hash('sha256', canonical(said))}`;
}

/** In a thread: an answer of some megabytes takes longer than others should wait. */
const deflated = promisify<string, Buffer>(deflateRaw);

/** JSON in which the members of objects are in their order as texts. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );

/** How much is kept, and where. */
interface CacheLimits {
  /** What is larger, deflated, is not stored in the table. */
  readonly storedCharacters: number;
  /** Of answers in the memory of this process, which nobody else writes. 0: others may, so the table alone knows. */
  readonly memoryCharacters: number;
  /** Whether this process removes the oldest from the table. */
  readonly isSwept: boolean;
}

/** Of the one process that answers. */
const OF_ONE: CacheLimits = { storedCharacters: 100_000, memoryCharacters: 64_000_000, isSwept: true };
/** Of one among many functions: an item of the table has 400 KB, and what is old expires. */
export const OF_MANY: CacheLimits = { storedCharacters: 380_000, memoryCharacters: 0, isSwept: false };
const KEPT_MS = 7 * DAY_MS;

/** A project has about so many in the table; after so many more the oldest go. */
const MAX_STORED = 1_000;
const SWEEP_EVERY = 100;
/** So many are read at once then: each may have `storedCharacters`, of which only its place and time are held. */
const SWEPT_AT_ONCE = 50;
/** So many are read at once to be told. */
const FOUND_AT_ONCE = 100;

/** The project that answers are of, as it was read when they were asked for: none is found from before it forgot some. */
type AnsweredProject = Pick<ProjectItem, 'id' | 'answers_forgotten'>;

export interface AnswerCache {
  find(project: AnsweredProject, key: string): Promise<KeptAnswer | undefined>;
  /**
   * Returns the answers of these keys, in their order; undefined: there is none. From the one on with which they have more
   * than `most` characters together they are null, whether there is one or not. One read for a hundred that are not in memory.
   */
  findMany(project: AnsweredProject, keys: readonly string[], most: number): Promise<(KeptAnswer | null | undefined)[]>;
  /** Keeps an answer, unless the project has forgotten its answers since it was read. */
  keep(project: AnsweredProject, key: string, kept: KeptAnswer): Promise<void>;
}

/** Returns an answer as it is kept: the JSON of what is known of it, a new line, and the JSON of itself. */
const textOf = ({ answer, ...known }: KeptAnswer): string => `${JSON.stringify(known)}\n${JSON.stringify(answer)}`;

/** Returns what a text keeps. The answer may have megabytes: it is read by who looks at it, once. */
function keptOf(text: string): KeptAnswer {
  const end = text.indexOf('\n');
  const known: Omit<KeptAnswer, 'answer'> = JSON.parse(text.slice(0, end));
  let answer: Answer | undefined;
  return {
    ...known,
    get answer() {
      answer ??= JSON.parse(text.slice(end + 1)) as Answer;
      return answer;
    },
  };
}

/** Returns how often a project has forgotten its answers. */
export const forgottenBy = (project: AnsweredProject | undefined): number => project?.answers_forgotten ?? 0;

/** Returns where an answer is in the table: elsewhere, once its project has forgotten its answers. */
const itemKeyOf = (project: AnsweredProject, key: string): Key<AnswerItem> =>
  keys.answer(project.id, forgottenBy(project), key);

const nameOf = (project: AnsweredProject, key: string): string => `${project.id} ${forgottenBy(project)} ${key}`;

/** Returns the cache of a process over the table. An answer is found by the project that it is of, and no other. */
export function answerCache(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { storedCharacters, memoryCharacters, isSwept }: CacheLimits = OF_ONE,
): AnswerCache {
  const memory = new Recent<string>(memoryCharacters, (text) => text.length);
  const stored = new Map<number, number>();

  /** Removes the oldest answers of a project beyond those that it may have. */
  const sweep = async (project: number): Promise<void> => {
    const places: Pick<AnswerItem, 'pk' | 'sk' | 'at'>[] = [];
    for await (const items of pagesOf(table, ranges.answersOf(project), SWEPT_AT_ONCE))
      places.push(...items.map(({ pk, sk, at }) => ({ pk, sk, at })));
    const old = places.toSorted((a, b) => b.at - a.at).slice(MAX_STORED);
    if (old.length > 0)
      await table.write(
        old.map(({ pk, sk }): Op => ({ remove: { pk, sk } })),
        { apart: true },
      );
  };

  /** Returns what gives the texts of those answers that there are. One read, of those that are not in memory. */
  const textsOf = async (
    project: AnsweredProject,
    wanted: readonly string[],
  ): Promise<ReadonlyMap<string, () => string>> => {
    const texts = new Map<string, () => string>();
    for (const key of wanted) {
      const text = memory.get(nameOf(project, key));
      if (text !== undefined) texts.set(key, () => text);
    }
    const missing = [...new Set(wanted)].filter((key) => !texts.has(key));
    const items = missing.length === 0 ? [] : await table.many(missing.map((key) => itemKeyOf(project, key)));
    for (const [n, item] of items.entries())
      if (item !== undefined)
        texts.set(missing[n] as string, () => inflateRawSync(Buffer.from(item.body, 'base64')).toString());
    return texts;
  };

  /** Returns what a text says, and remembers it. */
  const told = (project: AnsweredProject, key: string, text: string): KeptAnswer => {
    memory.set(nameOf(project, key), text);
    return keptOf(text);
  };

  return {
    find: async (project, key) => {
      const text = (await textsOf(project, [key])).get(key)?.();
      return text === undefined ? undefined : told(project, key, text);
    },
    findMany: async (project, wanted, most) => {
      const found: (KeptAnswer | null | undefined)[] = [];
      let characters = 0;
      for (let from = 0; from < wanted.length; from += FOUND_AT_ONCE) {
        const some = wanted.slice(from, from + FOUND_AT_ONCE);
        const texts = characters > most ? undefined : await textsOf(project, some);
        for (const key of some) {
          const text = characters > most ? undefined : texts?.get(key)?.();
          characters += text?.length ?? 0;
          if (characters > most) found.push(null);
          else found.push(text === undefined ? undefined : told(project, key, text));
        }
      }
      return found;
    },
    keep: async (project, key, kept) => {
      const text = textOf(kept);
      memory.set(nameOf(project, key), text);
      const body = (await deflated(text)).toString('base64');
      const at = itemKeyOf(project, key);
      if (body.length > storedCharacters) {
        await table.write([{ remove: at }]);
        return;
      }
      const ttl = ttlAt(clock() + KEPT_MS);
      await table.write([{ put: { ...at, at: kept.at, body, ttl } }]);
      // Who forgets first changes the project and then removes what is there: one of the two removes this one.
      if (forgottenBy(await table.get(keys.project(project.id))) !== forgottenBy(project)) {
        await table.write([{ remove: at }]);
        return;
      }
      if (!isSwept) return;
      const count = (stored.get(project.id) ?? 0) + 1;
      stored.set(project.id, count % SWEEP_EVERY);
      if (count === SWEEP_EVERY) await sweep(project.id);
    },
  };
}
