/** Where a subscription is sent to: what may be named, and what is stored of it. */
import * as z from 'zod';
import type { Tenant } from '../../accounts/organizations/tenant.ts';
import type { Context } from '../../ports/context.ts';
import { invalid } from '../../ports/errors.ts';
import { checkUrl } from '../../ports/outbound/outbound.ts';
import type { Value } from '../../ports/table/table.ts';
import { checkWebhook, webhookFields } from '../../webhooks/webhook.ts';
import { NO_MAIL } from '../messages/letter.ts';
import { belongingOf } from '../notifier.ts';
import { addressesOf, type SubscriptionItem, type SubscriptionPatch } from './model.ts';

/** E-mail addresses of one subscription. */
const MAX_ADDRESSES = 20;

/** Throws a 400 for a target that cannot be sent to; `sent` is what is new, `before` the type that it was. */
export function checkTarget(
  { settings }: Pick<Context, 'settings'>,
  before: SubscriptionItem['target_type'],
  sent: SubscriptionPatch,
): void {
  const { target_type = before, target_value } = sent;
  if ((target_type === 'email') !== (before === 'email') && target_value === undefined) {
    invalid('target_value', 'Send it with target_type.', 'required');
  }
  if (target_type === 'email') {
    if (typeof sent.notify_secret === 'string') invalid('notify_secret', 'Only what a webhook is sent is signed.');
    const isNew = sent.target_type !== undefined || target_value !== undefined;
    if (isNew && settings.mailFrom === null) invalid('target_type', `${NO_MAIL} Use webhook or slack.`);
    if (target_value !== undefined) checkAddresses(target_value);
    return;
  }
  checkWebhook({ notify_secret: sent.notify_secret }, settings);
  if (target_value !== undefined) checkUrl(target_value, settings, { attr: 'target_value', query: true });
}

const Address = z.email();

/** Throws a 400 for a text with what is no address, or with too many. */
function checkAddresses(text: string): void {
  const addresses = addressesOf(text);
  const wrong = addresses.find((address) => !Address.safeParse(address).success);
  if (wrong !== undefined) invalid('target_value', `'${wrong}' is no e-mail address.`);
  if (addresses.length > MAX_ADDRESSES) invalid('target_value', `Send at most ${MAX_ADDRESSES} addresses.`);
}

/** Returns the fields to store of a target that was sent. */
export async function targetFields(
  context: Pick<Context, 'vault'>,
  { organization }: Tenant,
  id: number,
  { target_type, target_value, notify_secret }: SubscriptionPatch,
): Promise<Readonly<Record<string, Value>>> {
  const belonging = belongingOf('subscription', organization.id, id);
  const type = target_type === undefined ? {} : { target_type };
  if (target_type === 'email') {
    if (target_value === undefined) return type;
    return { ...type, target_value, notify_url: null, notify_secret: null };
  }
  const { notify_host: _, ...fields } = await webhookFields(
    context,
    { notify_url: target_value, notify_secret },
    belonging,
  );
  return { ...type, ...fields, ...(target_value === undefined ? {} : { target_value: shownAddress(target_value) }) };
}

/** Returns of an address where it leads: the rest of a chat's webhook is a secret. */
const shownAddress = (address: string): string => `${new URL(address).origin}/…`;
