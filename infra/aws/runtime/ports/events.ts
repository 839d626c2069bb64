import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SECOND_MS } from '../../../../lib/basics/units.ts';
import { eventBridgeEvents } from '../../../../lib/ports/events/eventbridge.ts';
import { variable } from '../environment.ts';
import { answersWithin } from '../timeouts.ts';

/** What it took without saying so is announced again, which is fine. */
const EVENT_BRIDGE_TIMEOUT_MS = 2.5 * SECOND_MS;

/** The source names the stage: `workspaces.prod`. */
export const events = () =>
  eventBridgeEvents({
    client: new EventBridgeClient({ requestHandler: answersWithin(EVENT_BRIDGE_TIMEOUT_MS) }),
    bus: variable('EVENT_BUS'),
    source: `workspaces.${variable('STAGE')}`,
  });
