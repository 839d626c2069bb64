import { MINUTE_MS, SECOND_MS } from '../../../../lib/basics/units.ts';
import { BACKGROUND_MS, pooledAnswerer, WAITED_MS } from '../../../../lib/insights/answering/pooled-answerer.ts';
import { stageAnswers } from '../../../../lib/insights/answering/stage-answers.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { functionOf, lakeWorkers } from '../lake-workers.ts';
import { backgroundTurns, type Turning, turnsOf } from '../turns.ts';

/** An order is taken in this time, or not at all: what took 25 s before it is ordered is answered before the gateway gives up. */
const ORDER_TIMEOUT_MS = 2.5 * SECOND_MS;

/** Nobody waits, so a turn may take a while to come free; its answer has the rest of the five minutes. */
const NOTIFIER_TURN_MS = 2 * MINUTE_MS;

/**
 * Answers that somebody waits for come from the same; others are ordered. Steps wait for alerts and subscriptions, in a line
 * of their own.
 */
export const answers = (context: Turning & Pick<Context, 'log'>) => {
  const runner = functionOf('QUERY_RUNNER', ORDER_TIMEOUT_MS);
  return stageAnswers(context, {
    answerer: pooledAnswerer({
      waited: lakeWorkers(context, WAITED_MS, turnsOf(context, 'waited')),
      background: lakeWorkers(context, BACKGROUND_MS, turnsOf(context, 'notifier', NOTIFIER_TURN_MS)),
    }),
    start: (order) => runner.order(order),
    background: backgroundTurns(context),
  });
};
