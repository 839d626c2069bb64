/** Webhooks of people, which are told of things in the form of the Standard Webhooks specification. */
import { createHmac } from 'node:crypto';
import { SECOND_MS } from '../basics/units.ts';
import { traceOf } from '../http/trace.ts';
import type { Context } from '../ports/context.ts';
import { invalid, Transient } from '../ports/errors.ts';
import { checkUrl, post } from '../ports/outbound/outbound.ts';
import type { Settings } from '../ports/settings.ts';
import type { Belonging } from '../ports/vault/vault.ts';

/** A signing secret: `whsec_` and the base64 of 24 to 64 bytes. */
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** Returns the key in a signing secret; undefined when the text is none. */
function keyIn(secret: string): Buffer | undefined {
  const key = Buffer.from(SECRET.exec(secret)?.[1] ?? '', 'base64');
  return key.length >= MIN_BYTES && key.length <= MAX_BYTES ? key : undefined;
}

/**
 * Returns the headers by which a receiver knows the message (`webhook-id`, the same each time it is sent), when it was
 * sent and, with a secret, from whom: `v1,` and the base64 of the HMAC-SHA256 of `<id>.<seconds since 1970>.<body>`.
 */
export function webhookHeaders(id: string, now: number, body: string, secret: string | null): Record<string, string> {
  const seconds = Math.floor(now / 1000);
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds) };
  const key = secret === null ? undefined : keyIn(secret);
  if (key === undefined) return headers;
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}

/** How long a webhook may be silent. */
const IDLE_TIMEOUT_MS = 10 * SECOND_MS;

/** The fields of an item that has a webhook: the address and the secret are sealed, the host of the address is shown. */
interface WebhookFields {
  readonly notify_url: string | null;
  readonly notify_host: string | null;
  readonly notify_secret: string | null;
}

/** A webhook as it is stored: both are sealed. */
interface SealedWebhook {
  readonly url: string;
  readonly secret: string | null | undefined;
}

/** Posts a message, always with the same id, to a webhook. Throws `Transient` when it is not taken, as `post` does. */
export async function postWebhook(
  { outbound, vault, clock }: Pick<Context, 'outbound' | 'vault' | 'clock'>,
  { url: sealedUrl, secret: sealedSecret }: SealedWebhook,
  belonging: Belonging,
  { id, body, signal }: { readonly id: string; readonly body: string; readonly signal: AbortSignal },
): Promise<void> {
  const url = await vault.open(sealedUrl, belonging);
  const secret = sealedSecret ? await vault.open(sealedSecret, belonging) : null;
  const { parent: traceparent } = traceOf(id);
  const headers = { 'content-type': 'application/json', traceparent, ...webhookHeaders(id, clock(), body, secret) };
  const { status } = await post(outbound, url, {
    headers,
    body: Buffer.from(body),
    signal,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
  });
  if (status < 200 || status >= 300) throw new Transient(`${new URL(url).host} answered ${status}.`);
}

/** What a caller writes of a webhook, if anything. */
interface WebhookInput {
  readonly notify_url?: string | null | undefined;
  readonly notify_secret?: string | null | undefined;
}

/** Throws a `Failure` for an address that may not be connected to, and for a secret that none can sign with. */
export function checkWebhook({ notify_url, notify_secret }: WebhookInput, settings: Settings): void {
  if (typeof notify_url === 'string') checkUrl(notify_url, settings, { attr: 'notify_url', query: true });
  if (typeof notify_secret === 'string' && keyIn(notify_secret) === undefined) {
    invalid('notify_secret', "It must be 'whsec_' and the base64 of 24 to 64 bytes.");
  }
}

/** Returns the fields to store of what was checked. */
export async function webhookFields(
  { vault }: Pick<Context, 'vault'>,
  { notify_url, notify_secret }: WebhookInput,
  belonging: Belonging,
): Promise<Partial<WebhookFields>> {
  const sealed = async (text: string | null) => (text === null ? null : vault.seal(text, belonging));
  return {
    ...(notify_url === undefined
      ? {}
      : { notify_url: await sealed(notify_url), notify_host: notify_url === null ? null : new URL(notify_url).host }),
    ...(notify_secret === undefined ? {} : { notify_secret: await sealed(notify_secret) }),
  };
}
