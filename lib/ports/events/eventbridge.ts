import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { orTransient } from '../aws-failures.ts';
import { Transient } from '../errors.ts';
import type { Events } from './events.ts';

interface EventBridgeOptions {
  readonly client: EventBridgeClient;
  /** Name or ARN of the bus. */
  readonly bus: string;
  /** The event's source, which rules match. */
  readonly source: string;
}

/** Returns the port to a bus of EventBridge; the `type` of an event is its detail-type. */
export function eventBridgeEvents({ client, bus, source }: EventBridgeOptions): Events {
  return {
    publish: async (type, detail) => {
      const entry = { EventBusName: bus, Source: source, DetailType: type, Detail: JSON.stringify(detail) };
      const command = new PutEventsCommand({ Entries: [entry] });
      const { Entries: [answer] = [] } = await orTransient('EventBridge', client.send(command));
      // A refused entry is no failed call.
      if (answer?.ErrorCode) throw new Transient(`EventBridge refused an event: ${answer.ErrorCode}`);
    },
  };
}
