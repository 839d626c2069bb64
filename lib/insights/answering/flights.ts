/** Computations that are under way: who asks the same at the same time waits for one together. */
import type { AnswerTurn } from './answerer.ts';
import { forgottenBy, type KeptAnswer } from './cache.ts';
import type { AskedQuery, computations } from './computations.ts';
import type { Moment } from './looking-world.ts';
import { cancelled } from './runs.ts';

/**
 * A computation, and those who wait for it. Until it has its turn it stands in line as each of the users who ask, so that
 * nobody waits for what else another one of them has asked.
 */
interface Flight {
  readonly stop: AbortController;
  waiting: number;
  /** Has it stand in line as a user, too. Returns the answer; rejects when it has no turn as that user, or fails. */
  readonly answerFor: (user: string | undefined) => Promise<KeptAnswer>;
}

/** Returns a computation, which is stopped when all who wait have left; `end` is called when nothing comes of it any more. */
function flightWith(
  compute: (turn: Pick<AnswerTurn, 'signal' | 'user' | 'begins'>) => Promise<KeptAnswer>,
  end: () => void,
): Flight {
  const stop = new AbortController();
  const { promise: answer, resolve, reject } = Promise.withResolvers<KeptAnswer>();
  // Those who wait are told.
  answer.catch(() => {});
  const inLine = new Map<string | undefined, { readonly leave: AbortController; readonly own: Promise<KeptAnswer> }>();
  let hasBegun = false;
  const standInLine = async (user: string | undefined, leave: AbortController): Promise<KeptAnswer> => {
    const begins = (): void => {
      hasBegun = true;
      for (const [other, one] of inLine) if (other !== user) one.leave.abort(cancelled());
    };
    try {
      const kept = await compute({ signal: AbortSignal.any([stop.signal, leave.signal]), user, begins });
      resolve(kept);
      end();
      return kept;
    } catch (error) {
      if (leave.signal.aborted) return answer;
      inLine.delete(user);
      if (hasBegun) reject(error);
      if (hasBegun || inLine.size === 0) end();
      throw error;
    }
  };
  const answerFor = (user: string | undefined): Promise<KeptAnswer> => {
    if (hasBegun) return answer;
    const known = inLine.get(user);
    if (known !== undefined) return known.own;
    const leave = new AbortController();
    const own = standInLine(user, leave);
    inLine.set(user, { leave, own });
    return own;
  };
  return { stop, waiting: 0, answerFor };
}

/** Waits for a computation as a user, until the signal ends that. */
async function waitFor(flight: Flight, { signal, user }: Pick<AnswerTurn, 'signal' | 'user'>): Promise<KeptAnswer> {
  flight.waiting += 1;
  const { promise: left, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave);
  try {
    return await Promise.race([flight.answerFor(user), left]);
  } finally {
    signal.removeEventListener('abort', leave);
    flight.waiting -= 1;
    if (flight.waiting === 0) flight.stop.abort(cancelled());
  }
}

/** Computes an answer that is true as of the moment. Throws what computing throws, and the signal's reason. */
type Compute = (
  asked: AskedQuery,
  key: string,
  moment: Moment,
  turn: Pick<AnswerTurn, 'signal' | 'line' | 'user'>,
) => Promise<KeptAnswer>;

/** Returns what computes an answer together with all who ask at the same time in the same line. */
export function sharedComputations({
  compute,
  isFresh,
}: Pick<ReturnType<typeof computations>, 'compute' | 'isFresh'>): Compute {
  const flights = new Map<string, Flight>();

  /** Returns the computation that is under way, or begins one. */
  const flightOf = (asked: AskedQuery, key: string, moment: Moment, { line }: Pick<AnswerTurn, 'line'>) => {
    // Its answer is not kept for who asks after their project has forgotten answers.
    const name = `${line} ${forgottenBy(asked.project)} ${key}`;
    const known = flights.get(name);
    if (known !== undefined && !known.stop.signal.aborted) return { flight: known, isJoined: true };
    const end = (): void => {
      if (flights.get(name) === flight) flights.delete(name);
    };
    const flight = flightWith((turn) => compute(asked, key, moment, { line, ...turn }), end);
    flights.set(name, flight);
    return { flight, isJoined: false };
  };

  return async (asked, key, moment, turn) => {
    const { flight, isJoined } = flightOf(asked, key, moment, turn);
    const kept = await waitFor(flight, turn);
    // One that was under way may have listed its files before the latest came. The next one has begun after that.
    if (!isJoined || (await isFresh(asked.project.id, kept, moment))) return kept;
    return waitFor(flightOf(asked, key, moment, turn).flight, turn);
  };
}
