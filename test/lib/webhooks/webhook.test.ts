import { createHmac } from 'node:crypto';
import { Transient } from '../../../lib/ports/errors.ts';
import { openOutbound } from '../../../lib/ports/outbound/outbound.ts';
import { postWebhook, webhookHeaders } from '../../../lib/webhooks/webhook.ts';
import { testContext } from '../../support/context.ts';
import { SWITCH_OF_PROTOCOLS, startRawServer } from '../../support/raw-server.ts';

test('a message is signed as Standard Webhooks has it: the example of the specification', () => {
  const headers = webhookHeaders(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    1614265330_000,
    '{"test": 2432232314}',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  );
  expect(headers).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('a message without a secret has no signature; with one, the secret is the key', () => {
  expect(webhookHeaders('a', 1_000, '{}', null)).toEqual({ 'webhook-id': 'a', 'webhook-timestamp': '1' });
  const key = Buffer.alloc(64, 7);
  const { 'webhook-signature': signature } = webhookHeaders('a', 1_999, '{}', `whsec_${key.toString('base64')}`);
  expect(signature).toBe(`v1,${createHmac('sha256', key).update('a.1.{}').digest('base64')}`);
});

test('a webhook that switches protocols has not taken the message', async () => {
  const raw = await startRawServer();
  const context = { ...testContext(), outbound: openOutbound({ privateAddresses: true }) };
  const belonging = { organization: 'acme', batchExport: 'b' };
  try {
    void raw.reply(SWITCH_OF_PROTOCOLS, { keepsOpen: true });
    const webhook = { url: await context.vault.seal(raw.url, belonging), secret: null };
    const message = { id: 'a', body: '{}', signal: new AbortController().signal };
    await expect(postWebhook(context, webhook, belonging, message)).rejects.toEqual(
      new Transient(`${new URL(raw.url).host} answered 101.`),
    );
  } finally {
    await raw.close();
  }
});
