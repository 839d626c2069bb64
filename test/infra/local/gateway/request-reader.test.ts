import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { requestReader } from '../../../../infra/local/gateway/request-reader.ts';
import type { ArrivedRequest } from '../../../../lib/capture/content.ts';
import { testContext } from '../../../support/context.ts';
import { onEnd } from '../../../support/on-end.ts';

/** A reader, and requests of addresses, each of so many events. */
function reading() {
  const { folder, log } = testContext();
  const reader = requestReader(join(folder, 'requests'), log);
  onEnd(() => reader.close());
  const from = (address: string, events: number): ArrivedRequest => ({
    id: 'one',
    receivedAt: 0,
    path: '/e',
    query: {},
    address,
    body: Buffer.from(
      JSON.stringify({
        api_key: 'phc_a',
        batch: Array.from({ length: events }, () => ({
          event: 'paid',
          distinct_id: 'ada',
          properties: { x: 'x'.repeat(100) },
        })),
      }),
    ),
  });
  return { reader, from };
}

test('whoever sends much that takes long to be read keeps no other waiting', async () => {
  const { reader, from } = reading();
  let read = 0;
  const request = from('192.0.2.1', 1_500);
  const flood = Array.from({ length: 200 }, async () => {
    const content = await reader.read(request);
    read += 1;
    return content;
  });
  await setImmediate();
  expect(await reader.read(from('192.0.2.2', 1_500))).toMatchObject({ taken: 1_500 });
  expect(read).toBeLessThan(100);
  for (const content of await Promise.all(flood)) expect(content).toMatchObject({ taken: 1_500 });
});

test('beyond a thousand that wait they are to come again', async () => {
  const { reader, from } = reading();
  const request = from('192.0.2.1', 100);
  const many = await Promise.allSettled(Array.from({ length: 1_010 }, () => reader.read(request)));
  const refused = many.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(9);
  expect(refused[0]).toMatchObject({ reason: { name: 'ReaderBusy' } });
});
