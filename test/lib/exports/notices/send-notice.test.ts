/** Who is told of failures, what, and how often: through the schedule, the jobs and the machines. */

import { createHmac } from 'node:crypto';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../../lib/basics/units.ts';
import { noticeOps } from '../../../../lib/exports/notices/notice.ts';
import { sendNotice } from '../../../../lib/exports/notices/send-notice.ts';
import { startBackfill } from '../../../../lib/exports/resource/backfills.ts';
import { destroyBatchExport } from '../../../../lib/exports/resource/change.ts';
import { traceOf } from '../../../../lib/http/trace.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { Permanent } from '../../../../lib/ports/errors.ts';
import { keys } from '../../../../lib/ports/table/keys.ts';
import { compareText } from '../../../../lib/ports/table/semantics.ts';
import type { Vault } from '../../../../lib/ports/vault/vault.ts';
import { exportWorld } from '../../../support/export-world.ts';
import { type Received, type Receiver, type Reply, startReceiver } from '../../../support/receiver.ts';

const NOW = Date.UTC(2026, 0, 7, 13, 20);
const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
beforeEach(() => receiver.reset());
afterAll(() => receiver.close());

/** An hourly export whose destination is gone, with a webhook. */
async function failing(fields: object = {}) {
  const world = await exportWorld({
    now: NOW,
    intrude: async (call) => {
      if (call === 'deliver') throw new Permanent('The folder is gone.');
    },
  });
  const tenant = await world.tenant();
  const { context, engine, run } = world.boot();
  const webhook = { notify_url: `${receiver.url}/hook?key=1`, notify_secret: SECRET, ...fields };
  const { id } = await world.createExport(context, tenant, webhook);
  const close = async () => {
    await engine.close();
    await world.close();
  };
  const messages = () => world.messages(id);
  /** Lets an event arrive and its hour pass. */
  const hour = async (n: number) => {
    await world.arrive(tenant.project.id, [NOW + n * HOUR_MS]);
    await run(NOW + (n + 1) * HOUR_MS);
  };
  return { world, tenant, context, id, run, hour, messages, close };
}

const bodies = () => receiver.received.map(({ body }) => JSON.parse(body));

test('a run that failed for good is told of once, signed, and its log says so', async () => {
  const { world, id, hour, run, messages, close } = await failing();
  await hour(0);
  await run(NOW + 2 * HOUR_MS);
  const [failed] = await world.runs(id);
  expect(bodies()).toEqual([
    {
      type: 'batch_export.run_failed',
      timestamp: expect.stringMatching(/^2026-01-07T14:00:.*Z$/),
      text: "A run of batch export 'x' for 2026-01-07T13:00:00Z - 2026-01-07T14:00:00Z failed: The folder is gone.",
      data: {
        id: failed?.id,
        batch_export: id,
        name: 'x',
        team_id: failed && (await world.item(id)).team_id,
        run: failed?.id,
        backfill: null,
        data_interval_start: '2026-01-07T13:00:00Z',
        data_interval_end: '2026-01-07T14:00:00Z',
        reason: 'The folder is gone.',
      },
    },
  ]);
  const { headers, body, path } = receiver.received[0] as Received;
  expect(path).toBe('/hook?key=1');
  const signed = createHmac('sha256', Buffer.alloc(24, 1)).update(
    `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`,
  );
  expect(headers['traceparent']).toBe(traceOf(failed?.id ?? '').parent);
  expect(headers).toMatchObject({ 'webhook-id': failed?.id, 'webhook-signature': `v1,${signed.digest('base64')}` });
  expect(await messages()).toContain(`Failure notification for run '${failed?.id}' has been sent`);
  expect(await world.table.get(keys.job('notice', failed?.id ?? ''))).toBeUndefined();
  await close();
});

test('an export that is paused after ten failures is told of, with the reason', async () => {
  const { id, hour, close } = await failing();
  for (let n = 0; n < 10; n++) await hour(n);
  const told = bodies();
  expect(told.map(({ type }) => String(type)).toSorted(compareText)).toEqual([
    'batch_export.paused',
    ...Array.from({ length: 10 }, () => 'batch_export.run_failed'),
  ]);
  expect(told.find(({ type }) => type === 'batch_export.paused')).toMatchObject({
    text: expect.stringMatching(/^Batch export 'x' was paused: .*10 runs in a row failed.*The folder is gone/),
    data: { batch_export: id, run: null, data_interval_start: null },
  });
  await close();
});

test('a backfill that failed is told of at its end, not run by run', async () => {
  const { world, tenant, context, id, run, close } = await failing();
  const at = (hour: number): number => Date.UTC(2026, 0, 1, hour);
  await world.arrive(tenant.project.id, [at(1), at(2), at(3)], 'then');
  const backfill = await startBackfill(context, await world.item(id), { start_at: at(1), end_at: at(4) });
  await run(NOW + MINUTE_MS);
  expect(bodies()).toMatchObject([
    { type: 'batch_export.backfill_failed', data: { id: backfill.id, backfill: backfill.id, run: null } },
  ]);
  await close();
});

test('a webhook that does not take it is tried again with the same id, for a day; the log tells', async () => {
  const { world, hour, run, id, messages, close } = await failing();
  const answers: Reply[] = [{ status: 500 }, { status: 302, headers: { location: 'http://127.0.0.1:1/' } }];
  receiver.answer = () => answers.shift() ?? { status: 204 };
  await hour(0);
  await run(NOW + 2 * HOUR_MS);
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(1);
  const told = (await messages()).filter((message) => message.startsWith('Failure'));
  expect(told).toEqual([
    expect.stringMatching(/ could not be sent: 127\.0\.0\.1:\d+ answered 500\. It will be tried again\.$/),
    expect.stringMatching(/ could not be sent: 127\.0\.0\.1:\d+ answered 302\. It will be tried again\.$/),
    expect.stringMatching(/ has been sent$/),
  ]);

  receiver.reset();
  receiver.answer = () => ({ status: 500 });
  await hour(2);
  await run(NOW + 40 * HOUR_MS);
  const last = (await messages()).findLast((message) => message.startsWith('Failure'));
  expect(last).toMatch(/It is not tried again: check notify_url\.$/);
  expect(receiver.received.length).toBeGreaterThan(20);
  const [, second] = await world.runs(id);
  expect(await world.table.get(keys.job('notice', second?.id ?? ''))).toBeUndefined();
  await close();
});

test('nobody is told where there is no webhook, or no export any more', async () => {
  const { hour, world, context, id, run, close } = await failing({ notify_url: null });
  await hour(0);
  expect(receiver.received).toEqual([]);
  await world.patch(context, id, { notify_url: receiver.url });
  await destroyBatchExport(context, await world.item(id), undefined, () => []);
  const notice = { export: id, type: 'paused', subject: id, range: null, reason: 'x', at: NOW } as const;
  await world.table.write(noticeOps('n', notice));
  await run(NOW + 2 * HOUR_MS);
  expect(receiver.received).toEqual([]);
  expect(await world.table.get(keys.job('notice', 'n'))).toBeUndefined();
  await close();
});

test('where there is a bus it is announced once, whatever becomes of the webhook', async () => {
  const { world, context, id, close } = await failing();
  receiver.answer = () => ({ status: 500 });
  const published: [string, object][] = [];
  const events = { publish: async (type: string, detail: object) => void published.push([type, detail]) };
  const notice = { export: id, type: 'paused', subject: id, range: null, reason: 'because', at: NOW } as const;
  await world.table.write(noticeOps('n', notice));
  let attempt = 0;
  const send = () => {
    attempt += 1;
    return sendNotice({ ...context, events }, { export: id, notice: 'n', attempt }, new AbortController().signal);
  };
  await send();
  await send();
  expect(published).toMatchObject([['batch_export.paused', { id: 'n', batch_export: id, reason: 'because' }]]);
  expect(receiver.received).toHaveLength(2);
  receiver.answer = () => ({ status: 200 });
  await send();
  await send();
  expect(published).toHaveLength(1);
  expect(receiver.received).toHaveLength(3);
  await close();
});

test('a notice that is being sent is sent by nobody else meanwhile, and comes back when it was refused', async () => {
  const { world, context, id, close } = await failing();
  const notice = { export: id, type: 'paused', subject: id, range: null, reason: 'because', at: NOW } as const;
  await world.table.write(noticeOps('n', notice));
  const job = keys.job('notice', 'n');
  const send = (ports: Context, attempt: number) =>
    sendNotice(ports, { export: id, notice: 'n', attempt }, new AbortController().signal);
  const open: Vault['open'] = async (...sealed) => {
    expect(await world.table.get(job)).toMatchObject({ due: context.clock() + 90 * SECOND_MS });
    await send(context, 1);
    return context.vault.open(...sealed);
  };
  receiver.answer = () => ({ status: 500 });
  await send({ ...context, vault: { ...context.vault, open } }, 1);
  expect(receiver.received).toHaveLength(1);
  expect(await world.table.get(job)).toMatchObject({ due: NOW });
  receiver.answer = () => ({ status: 204 });
  await send(context, 1);
  expect(receiver.received).toHaveLength(1);
  await send(context, 2);
  expect(receiver.received).toHaveLength(2);
  expect(await world.table.get(job)).toBeUndefined();
  await close();
});

test('what breaks while it is sent is tried again for a day, not without end', async () => {
  const { world, context, id, messages, close } = await failing();
  const send = async (at: number) => {
    const notice = { export: id, type: 'paused', subject: id, range: null, reason: 'because', at } as const;
    await world.table.write(noticeOps('n', notice));
    const open = () => Promise.reject(new TypeError('something else'));
    const broken = { ...context, vault: { ...context.vault, open } };
    await sendNotice(broken, { export: id, notice: 'n', attempt: 1 }, new AbortController().signal);
  };
  await expect(send(context.clock() - 23 * HOUR_MS)).rejects.toThrow('something else');
  await send(context.clock() - 24 * HOUR_MS);
  expect(await world.table.get(keys.job('notice', 'n'))).toBeUndefined();
  expect((await messages()).at(-1)).toMatch(
    /The service met an error of its own \(TypeError\)\. It is not tried again/,
  );
  await close();
});
