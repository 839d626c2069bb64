/** What a page makes of answers: of an answer it is always the same, so a later look needs not make it again. */
import { hash } from 'node:crypto';
import { recentOf } from '../../basics/recent.ts';
import { MINUTE_MS } from '../../basics/units.ts';
import { type Chart, isEmptyChart } from '../../charts/chart.ts';
import { chartOf } from '../../charts/describe/describe.ts';
import { shownQuery } from '../../charts/describe/read.ts';
import { figure } from '../../charts/figure.ts';
import { wireInstant } from '../../http/instant.ts';
import { parseJson } from '../../http/json.ts';
import type { Answers, Told } from '../../insights/answering/answers.ts';
import type { KeptAnswer } from '../../insights/answering/cache.ts';
import { meansTheSame } from '../../insights/answering/freshness.ts';
import { publicColumns } from './columns.ts';

/** An answer as a page shows it. */
export interface Drawn {
  /** Its chart as markup. */
  readonly figure: string;
  /** It has no number but zero. */
  readonly isEmpty: boolean;
  /** It has rows for a spreadsheet. */
  readonly hasRows: boolean;
}

/** Of each process, for all its pages, and of each form. */
const MAX_CHARACTERS = 16_000_000;

/** An answer of a project's insight, and the query with its display, as it is stored. */
export interface AnsweredInsight {
  readonly project: number;
  readonly query: string;
  /** The project's zone. */
  readonly timezone: string;
  readonly told: Told;
  /** When it is shown. */
  readonly now: number;
}

/** The clocks of all zones show another quarter of an hour at once. */
const QUARTER_MS = 15 * MINUTE_MS;

/**
 * Returns when an answer that is kept is known to have been true, to a quarter of an hour after it was computed: it is true
 * as long as the clock makes it no other one, and has been asked for anew where its files are others.
 */
const trueAt = ({ at, clock }: KeptAnswer, { timezone, now }: AnsweredInsight): number =>
  meansTheSame(clock, at, now, timezone) ? Math.max(at, now - (now % QUARTER_MS)) : at;

/** Returns the chart of an answer that is kept, as others than members may see it: `publicColumns`. */
export function chartOfAnswer(answered: AnsweredInsight): Chart {
  const { query, timezone, told } = answered;
  const { kept } = told;
  const answer = kept?.answer ?? { results: null };
  const { results, columns, types, hasMore = false, resolved_date_range: range } = answer;
  const asked = parseJson(query);
  return chartOf(asked, {
    results,
    columns: columns?.map(String),
    names: publicColumns(shownQuery(asked), answer),
    hasMore,
    timezone,
    ...(kept !== null && { computedAt: wireInstant(kept.at), trueAt: wireInstant(trueAt(kept, answered)) }),
    range,
    ...(Array.isArray(types) ? { types } : {}),
  });
}

/**
 * Returns a function that gives what was made of an answer, from memory when it was made of this answer of this query before.
 * An answer is known by its project, its key, and when and of which files it was computed; until when it is known to be true
 * tells which of its days are over.
 */
function memoryOf<T>(charactersOf: (made: T) => number) {
  const memories = recentOf(MAX_CHARACTERS, charactersOf);
  return (answers: Answers, answered: AnsweredInsight, make: () => T): T => {
    const { project, query, timezone, told } = answered;
    const { key, kept } = told;
    const memory = memories(answers);
    const said = JSON.stringify([project, key, kept?.at, kept?.files, query, timezone, kept && trueAt(kept, answered)]);
    const name = hash('sha256', said);
    const known = memory.get(name);
    if (known !== undefined) return known;
    const made = make();
    memory.set(name, made);
    return made;
  };
}

const drawings = memoryOf<Drawn>((made) => made.figure.length);
const spreadsheets = memoryOf<string>((text) => text.length);

/** Returns an answer as a page shows it. */
export const drawn = (answers: Answers, answered: AnsweredInsight): Drawn =>
  drawings(answers, answered, () => {
    const chart = chartOfAnswer(answered);
    return {
      figure: inOnePiece(figure(chart).toString()),
      isEmpty: isEmptyChart(chart),
      hasRows: chart.table.rows.length > 0,
    };
  });

/** Returns all numbers of an answer as a file for spreadsheets. */
export async function spreadsheet(answers: Answers, answered: AnsweredInsight): Promise<string> {
  const { csvOf } = await import('../../charts/csv.ts');
  return spreadsheets(answers, answered, () => csvOf(chartOfAnswer(answered).table));
}

/** Returns a text that is one piece of memory, not a tree of the pieces that it was joined from. */
const inOnePiece = (text: string): string => Buffer.from(text).toString();
