/** The port to who computes the answers of queries, and what does so in its own process. */
import { messageOf } from '../../basics/text.ts';
import { failureOfIssues } from '../../http/fields.ts';
import { Failure, invalid } from '../../ports/errors.ts';
import type { Waiter } from '../../workers/turns.ts';
import type { Answer } from '../kinds/kind.ts';
import { kindOf } from '../kinds/kinds.ts';
import { checkModifiers } from '../kinds/parts/modifiers.ts';
import type { SentQuery } from '../kinds/source.ts';
import type { Looked, Moment, WorldFile, WorldFiles } from './looking-world.ts';
import type { WorldDatabase } from './world.ts';

/** A query, and all that its answer depends on. Plain JSON. */
export interface AnswerInput {
  readonly query: SentQuery;
  readonly moment: Moment;
  readonly files: WorldFiles;
  /** It is a tile of a dashboard: others that look at the same events are likely to follow. */
  readonly isTile?: boolean;
}

/** An answer, and what was looked at for it. Plain JSON. */
export interface ComputedAnswer {
  readonly answer: Answer;
  readonly looked: Looked;
  /** What failed on the way and was done without, for the log: a worker has none. */
  readonly warnings?: readonly string[];
}

/**
 * Where a query stands in line. `waited`: somebody waits at the other end of a request; `background`: nobody does, so it may
 * take longer; `notifier`: nor does anybody, and no query that somebody has asked for stands before it.
 */
export type AnswerLine = 'waited' | 'background' | 'notifier';

/** Who waits for an answer. */
export interface AnswerTurn extends Waiter {
  readonly signal: AbortSignal;
  readonly line: AnswerLine;
  /** Is called when it has its turn, where there are turns. */
  readonly begins?: (() => void) | undefined;
}

export interface Answerer {
  /**
   * Throws a 400 for a query that cannot be answered or takes more time, memory or rows than one may, a 429 when too
   * much waits already, and the signal's reason.
   */
  answer(asked: AnswerInput, waiting: AnswerTurn): Promise<ComputedAnswer>;
}

/** An answer has at most so many bytes, as JSON. */
const MAX_BYTES = 5_000_000;

/** Computes an answer in this process: what a worker does. `reads` is told the files that are read, before they are. */
export async function computed(
  worlds: Pick<WorldDatabase, 'world'>,
  { query, moment, files, isTile = false }: AnswerInput,
  reads?: (files: readonly WorldFile[]) => void,
): Promise<ComputedAnswer> {
  const kind = kindOf(query);
  const read = kind.schema.safeParse(query, { reportInput: true });
  if (!read.success) throw within('query', failureOfIssues(read.error));
  checkModifiers(query, moment.timezone, 'query');
  const warnings = new Set<string>();
  const warn = (error: unknown): void => void warnings.add(messageOf(error));
  const world = worlds.world(files, moment, { reads, warn, isRepeated: isTile });
  const answer = await kind.answer(read.data, world).catch((error: unknown): never => {
    const isOfMember = error instanceof Failure && error.body.attr !== null && error.body.attr !== 'query';
    throw isOfMember ? within('query', error) : error;
  });
  const bytes = Buffer.byteLength(JSON.stringify(answer));
  if (bytes > MAX_BYTES)
    invalid(
      'query',
      `The answer is larger than ${MAX_BYTES / 1_000_000} MB. Ask for less: a shorter time, fewer columns, or a limit.`,
    );
  return { answer, looked: world.looked(), ...(warnings.size > 0 && { warnings: [...warnings] }) };
}

/** Returns the failure of a field as that of the same field below another one. */
function within(outer: string, { kind, body }: Failure): Failure {
  const attr = body.attr === null ? outer : `${outer}__${body.attr}`;
  return new Failure(kind, { attr, detail: body.detail, code: body.code });
}
