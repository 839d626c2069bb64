import * as z from 'zod';
import type { UserLookup } from '../../accounts/users/lookup.ts';
import { User } from '../../accounts/users/model.ts';
import { boolean, choice, datetime, integer, text } from '../../http/fields.ts';
import { wireInstant, wireInstantOrNull } from '../../http/instant.ts';
import { insightId, shortIdOf } from '../../insights/model.ts';
import { fromJsonText, type JsonText } from '../../ports/table/json-text.ts';
import type { NotifierItem } from '../notifier.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    subscription: SubscriptionItem;
  }
}

const TARGET_TYPES = ['email', 'slack', 'webhook'] as const;
export const FREQUENCIES = ['daily', 'weekly', 'monthly', 'yearly'] as const;
export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
type Weekday = (typeof WEEKDAYS)[number];

/** A rule of recurrence. Instants are milliseconds since 1970. */
export interface Schedule {
  readonly frequency: (typeof FREQUENCIES)[number];
  /** Each so many days, weeks, months or years. */
  readonly interval: number;
  /** Of weeks and months; empty: the day of the start. */
  readonly byweekday: readonly Weekday[];
  /** Which of these days of a month: 1 is the first, -1 the last; null: each. */
  readonly bysetpos: number | null;
  /** How many times in all; null: without end. */
  readonly count: number | null;
  readonly start_date: number;
  /** The last time is not after it; null: without end. */
  readonly until_date: number | null;
}

/** A subscription as it is stored: it is about a dashboard or an insight; the other is null. */
export interface SubscriptionItem extends NotifierItem {
  readonly id: number;
  readonly dashboard: number | null;
  readonly insight: number | null;
  /** Those of the dashboard that are sent; empty: all. */
  readonly dashboard_export_insights: JsonText<readonly number[]>;
  readonly target_type: (typeof TARGET_TYPES)[number];
  /** As answers show it: of a webhook only where it leads, addresses as they were sent. */
  readonly target_value: string;
  readonly schedule: JsonText<Schedule>;
  readonly title: string | null;
  readonly deleted: boolean;
  /** Null: there is none. */
  readonly next_delivery_date: number | null;
  readonly last_delivered_at: number | null;
}

/** Returns the e-mail addresses of a subscription, each once. */
export const addressesOf = (targetValue: string): readonly string[] => [
  ...new Set(targetValue.split(',').map((one) => one.trim())),
];

/** An interval is at most so long, and a rule has at most so many counted times. */
const MAX_INTERVAL = 1_000;
const MAX_COUNT = 10_000;
/** The fifth weekday of a month is the last that there may be. */
const LAST_POSITION = 5;

/** The body that makes a subscription. */
export const SubscriptionInput = z.object({
  dashboard: integer().nullable().optional().describe('What is sent: a dashboard, or an insight.'),
  insight: insightId().nullable().optional(),
  dashboard_export_insights: z
    .array(integer())
    .max(500)
    .optional()
    .describe('Those insights of the dashboard that are sent. Default: all, at most 25.'),
  target_type: choice(TARGET_TYPES),
  target_value: text({ max: 2_000 }).describe(
    'E-mail addresses with commas between them, at most 20; or the address of a webhook, of which answers show where ' +
      "it leads. `slack` is a webhook that is sent Slack's form.",
  ),
  notify_secret: text()
    .nullable()
    .optional()
    .describe('Signs what a webhook is sent (Standard Webhooks): `whsec_` and base64. It is never returned.'),
  frequency: choice(FREQUENCIES),
  interval: integer({ min: 1, max: MAX_INTERVAL }).optional().describe('Each so many days, weeks ... Default: 1.'),
  byweekday: z
    .array(choice(WEEKDAYS))
    .max(7)
    .nullable()
    .optional()
    .describe('Days of weeks or months. Default: the day of `start_date`.'),
  bysetpos: integer({ min: -LAST_POSITION, max: LAST_POSITION })
    .nullable()
    .optional()
    .describe('Which of `byweekday` in a month: 1 the first, -1 the last.'),
  count: integer({ min: 1, max: MAX_COUNT }).nullable().optional().describe('How many times in all.'),
  start_date: datetime().describe("From then on, at its time of the day by the project's clocks."),
  until_date: datetime().nullable().optional(),
  title: text({ max: 100, blank: true }).nullable().optional(),
  enabled: boolean().optional(),
  deleted: boolean().optional(),
});

/** The body that changes a subscription. */
export const SubscriptionPatch = SubscriptionInput.partial();
export type SubscriptionPatch = z.output<typeof SubscriptionPatch>;

const instant = z.iso.datetime().nullable();

export const SubscriptionObject = z
  .object({
    id: z.int(),
    resource_type: z.enum(['dashboard', 'insight']),
    dashboard: z.int().nullable(),
    insight: z.int().nullable(),
    insight_short_id: z.string().nullable(),
    resource_name: z.string().nullable(),
    dashboard_export_insights: z.array(z.int()),
    target_type: z.enum(TARGET_TYPES),
    target_value: z.string(),
    frequency: z.enum(FREQUENCIES),
    interval: z.int(),
    byweekday: z.array(z.enum(WEEKDAYS)),
    bysetpos: z.int().nullable(),
    count: z.int().nullable(),
    start_date: z.iso.datetime(),
    until_date: instant,
    created_at: z.iso.datetime(),
    created_by: User.nullable(),
    deleted: z.boolean(),
    enabled: z.boolean(),
    title: z.string().nullable(),
    summary: z.string().describe('When it is sent, in words.'),
    next_delivery_date: instant,
    last_delivered_at: instant,
    latest_error: z.string().nullable().describe('Why the latest was not sent, or since when one is late.'),
    paused_reason: z.string().nullable().describe('Why the service has disabled it; enabling it again clears it.'),
  })
  .meta({ id: 'Subscription' });

/**
 * Returns the public object of a stored subscription; `name` is that of what it sends, `summary` its schedule's words,
 * `latest_error` what there is to tell of trouble.
 */
export function subscriptionObject(
  item: SubscriptionItem,
  { name, summary }: { readonly name: string | null; readonly summary: string },
  userOf: UserLookup,
  latest_error: string | null,
): z.input<typeof SubscriptionObject> {
  const { frequency, interval, byweekday, bysetpos, count, start_date, until_date } = fromJsonText(item.schedule);
  return {
    id: item.id,
    resource_type: item.dashboard === null ? 'insight' : 'dashboard',
    dashboard: item.dashboard,
    insight: item.insight,
    insight_short_id: item.insight === null ? null : shortIdOf(item.insight),
    resource_name: name,
    dashboard_export_insights: [...fromJsonText(item.dashboard_export_insights)],
    target_type: item.target_type,
    target_value: item.target_value,
    frequency,
    interval,
    byweekday: [...byweekday],
    bysetpos,
    count,
    start_date: wireInstant(start_date),
    until_date: wireInstantOrNull(until_date),
    created_at: wireInstant(item.created_at),
    created_by: userOf(item.created_by),
    deleted: item.deleted,
    enabled: item.enabled,
    title: item.title,
    summary,
    next_delivery_date: item.enabled && !item.deleted ? wireInstantOrNull(item.next_delivery_date) : null,
    last_delivered_at: wireInstantOrNull(item.last_delivered_at),
    latest_error,
    paused_reason: item.paused_reason,
  };
}
