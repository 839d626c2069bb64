/** What a page makes of answers: of an answer it is always the same, so a later look needs not make it again. */
import { hash } from 'node:crypto';
import { recentOf } from '../../basics/recent.ts';
import { isEmptyChart } from '../../charts/chart.ts';
import { figure } from '../../charts/figure.ts';
import type { Answers } from '../../insights/answering/answers.ts';
import { type AnsweredInsight, chartOfAnswer, trueAt } from '../insights/public-chart.ts';

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
