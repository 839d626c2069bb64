import { SECOND_MS } from '../../../../lib/basics/units.ts';
import { runningInTurns } from '../../../../lib/workers/table-turns.ts';
import { type Turning, turnsOf } from '../turns.ts';

/** The function of an endpoint ends before. */
const TEST_TURN_MS = 30 * SECOND_MS;

/** Of all functions together: one instance has one request at a time, and cannot count those of an organization. */
export const testTurns = (context: Turning) => runningInTurns(turnsOf(context, 'test', 0), TEST_TURN_MS);
