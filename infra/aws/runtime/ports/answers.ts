import { SECOND_MS } from '../../../../lib/basics/units.ts';
import { BACKGROUND_MS, pooledAnswerer, WAITED_MS } from '../../../../lib/insights/answering/pooled-answerer.ts';
import { stageAnswers } from '../../../../lib/insights/answering/stage-answers.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { functionOf, lakeWorkers } from '../lake-workers.ts';
import { backgroundTurns, type Turning, turnsOf } from '../turns.ts';

/** An order is taken in this time, or not at all: what took 25 s before it is ordered is answered before the gateway gives up. */
const ORDER_TIMEOUT_MS = 2.5 * SECOND_MS;

/**
 * Answers that somebody waits for come from the same; others are ordered. A step waits where nobody else does: its
 * function is told the one that is for the background.
 */
export const answers = (context: Turning & Pick<Context, 'log'>) => {
  const runner = functionOf('QUERY_RUNNER', ORDER_TIMEOUT_MS);
  return stageAnswers(context, {
    answerer: pooledAnswerer({
      waited: lakeWorkers(context, WAITED_MS, turnsOf(context, 'waited')),
      background: lakeWorkers(context, BACKGROUND_MS, turnsOf(context, 'background')),
    }),
    start: (order) => runner.order(order),
    background: backgroundTurns(context),
  });
};
