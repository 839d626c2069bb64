import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { eventBridgeEvents } from '../../../../lib/ports/events/eventbridge.ts';
import { variable } from '../environment.ts';

/** The source names the stage: `workspaces.prod`. */
export const events = () =>
  eventBridgeEvents({
    client: new EventBridgeClient(),
    bus: variable('EVENT_BUS'),
    source: `workspaces.${variable('STAGE')}`,
  });
