import { createHmac } from 'node:crypto';
import { webhookHeaders } from '../../../lib/webhooks/webhook.ts';

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
