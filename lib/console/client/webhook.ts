/** The webhook that is told of something, such as an alert. */

/** What a form says of it. */
export interface WebhookValues {
  /** Empty: as it is, which for something new is nowhere. */
  readonly notify_url: string;
  readonly notify_secret: string;
  /** None is told any more. */
  readonly isSilent: boolean;
}

export const NO_WEBHOOK: WebhookValues = { notify_url: '', notify_secret: '', isSilent: false };

/** Returns what is written of it; nothing of what stays. */
export const sentWebhook = ({ notify_url, notify_secret, isSilent }: WebhookValues) =>
  isSilent
    ? { notify_url: null, notify_secret: null }
    : { ...(notify_url === '' ? {} : { notify_url }), ...(notify_secret === '' ? {} : { notify_secret }) };
