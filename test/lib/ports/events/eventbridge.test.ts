import {
  EventBridgeClient,
  EventBridgeServiceException,
  InternalException,
  PutEventsCommand,
} from '@aws-sdk/client-eventbridge';
import { mockClient } from 'aws-sdk-client-mock';
import { Transient } from '../../../../lib/ports/errors.ts';
import { eventBridgeEvents } from '../../../../lib/ports/events/eventbridge.ts';

const client = mockClient(EventBridgeClient);
const events = eventBridgeEvents({ client: new EventBridgeClient({ region: 'eu-central-1' }), bus: 'b', source: 's' });
const about = { message: 'no', $metadata: {} };

beforeEach(() => client.reset());

test('an event goes to the bus, with its type, its source and its detail as JSON', async () => {
  client.on(PutEventsCommand).resolves({ FailedEntryCount: 0, Entries: [{ EventId: '1' }] });
  await events.publish('paused', { id: 'x' });
  expect(client.commandCalls(PutEventsCommand).map(({ args }) => args[0].input)).toEqual([
    { Entries: [{ EventBusName: 'b', Source: 's', DetailType: 'paused', Detail: '{"id":"x"}' }] },
  ]);
});

test('what passes is Transient: a refused entry, trouble of the service; a wrong request is not', async () => {
  client.on(PutEventsCommand).resolves({ FailedEntryCount: 1, Entries: [{ ErrorCode: 'ThrottlingException' }] });
  await expect(events.publish('paused', {})).rejects.toThrow(Transient);
  client.on(PutEventsCommand).rejects(new InternalException({ ...about, $metadata: { httpStatusCode: 500 } }));
  await expect(events.publish('paused', {})).rejects.toThrow(Transient);
  client
    .on(PutEventsCommand)
    .rejects(new EventBridgeServiceException({ ...about, name: 'AccessDeniedException', $fault: 'client' }));
  await expect(events.publish('paused', {})).rejects.not.toThrow(Transient);
});
