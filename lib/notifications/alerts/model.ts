import * as z from 'zod';
import type { UserLookup } from '../../accounts/users/lookup.ts';
import { User } from '../../accounts/users/model.ts';
import { boolean, choice, integer, text } from '../../http/fields.ts';
import { wireInstant, wireInstantOrNull } from '../../http/instant.ts';
import { insightId, TileInsight } from '../../insights/model.ts';
import { fromJsonText, type JsonText } from '../../ports/table/json-text.ts';
import type { NotifierItem } from '../notifier.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    alert: AlertItem;
  }
}

const CONDITIONS = ['absolute_value', 'relative_increase', 'relative_decrease'] as const;
const THRESHOLDS = ['absolute', 'percentage'] as const;
const CALCULATION_INTERVALS = ['hourly', 'daily', 'weekly', 'monthly'] as const;
const NOTIFY_TYPES = ['webhook', 'slack'] as const;

/** What an alert found when it last looked. */
const STATES = ['Not firing', 'Firing', 'Errored', 'Snoozed'] as const;
type AlertState = (typeof STATES)[number];

/** The bounds of a number; of a share, 0.5 is 50 percent. */
export interface Threshold {
  readonly type: (typeof THRESHOLDS)[number];
  readonly lower: number | null;
  readonly upper: number | null;
}

/** One look at the number. `value` is null where there is no single one. */
export interface AlertCheck {
  readonly id: string;
  readonly at: number;
  readonly value: number | null;
  readonly state: AlertState;
  readonly targets_notified: boolean;
}

/** An alert as it is stored. */
export interface AlertItem extends NotifierItem {
  readonly id: string;
  readonly insight_id: number;
  readonly name: string;
  readonly threshold_id: string;
  readonly threshold_name: string;
  readonly threshold: JsonText<Threshold>;
  readonly condition: (typeof CONDITIONS)[number];
  readonly series_index: number;
  /** The interval that goes on is looked at, too. */
  readonly check_ongoing_interval: boolean;
  readonly calculation_interval: (typeof CALCULATION_INTERVALS)[number];
  readonly skip_weekend: boolean;
  readonly snoozed_until: number | null;
  /** Uuids of members. */
  readonly subscribed_users: JsonText<readonly string[]>;
  readonly notify_host: string | null;
  readonly notify_type: (typeof NOTIFY_TYPES)[number];
  readonly state: AlertState;
  readonly last_value: number | null;
  readonly last_checked_at: number | null;
  readonly last_notified_at: number | null;
  readonly next_check_at: number;
  /** What of a breach was told already: its interval and its series. */
  readonly told: JsonText<readonly string[]>;
  /** The latest five, the newest first. */
  readonly checks: JsonText<readonly AlertCheck[]>;
}

const bound = () => z.number().nullable().optional();

const ThresholdInput = z.object({
  name: text({ max: 255, blank: true }).optional(),
  configuration: z.object({
    type: choice(THRESHOLDS).describe('Bounds of the number, or of its change as a share: 0.5 is 50 percent.'),
    bounds: z
      .object({ lower: bound(), upper: bound() })
      .nullable()
      .optional()
      .describe('The alert fires when it is below `lower` or above `upper`. At least one is needed.'),
  }),
});

const ConditionInput = z.object({
  type: choice(CONDITIONS).describe(
    'The number of an interval, or by how much it is more or less than the one before.',
  ),
});

const ConfigInput = z.object({
  type: choice(['TrendsAlertConfig']),
  series_index: integer({ min: 0 }).optional().describe('Which series or formula. Without effect with a breakdown.'),
  check_ongoing_interval: boolean()
    .nullable()
    .optional()
    .describe('Looks at the interval that goes on, in place of the last whole one. It needs an upper bound.'),
});

/** At most so many people are told by an alert. */
const MAX_SUBSCRIBED_USERS = 40;

/** The body that makes an alert. */
export const AlertInput = z.object({
  insight: insightId().describe('A TrendsQuery.'),
  name: text({ max: 255, blank: true }).optional(),
  subscribed_users: z
    .array(integer())
    .max(MAX_SUBSCRIBED_USERS)
    .describe('Numbers of members who are told by e-mail, where the service sends some.'),
  threshold: ThresholdInput,
  condition: ConditionInput.nullable().optional().describe('Default: absolute_value.'),
  config: ConfigInput.nullable().optional(),
  calculation_interval: choice(CALCULATION_INTERVALS)
    .nullable()
    .optional()
    .describe('How often it looks. Default: daily.'),
  enabled: boolean().optional(),
  skip_weekend: boolean().nullable().optional().describe('It does not look on Saturday and Sunday.'),
  notify_url: text({ max: 2_000 })
    .nullable()
    .optional()
    .describe('A webhook that is told. It is never returned; `notify_host` tells where it leads.'),
  notify_secret: text()
    .nullable()
    .optional()
    .describe('Signs what the webhook is told (Standard Webhooks): `whsec_` and base64. It is never returned.'),
  notify_type: choice(NOTIFY_TYPES)
    .optional()
    .describe("The form of what the webhook is told. Default: Slack's, where `notify_url` leads to hooks.slack.com."),
  snoozed_until: text()
    .nullable()
    .optional()
    .describe('Until then it does not look: `2h`, `1d`, `1w`, `1m` from now, or a time. Null: it looks again.'),
});

/** The body that changes an alert. */
export const AlertPatch = AlertInput.partial();
export type AlertPatch = z.output<typeof AlertPatch>;

export const AlertObject = z
  .object({
    id: z.uuid(),
    created_by: User.nullable(),
    created_at: z.iso.datetime(),
    insight: TileInsight,
    name: z.string(),
    subscribed_users: z.array(User),
    threshold: z.object({
      id: z.uuid(),
      created_at: z.iso.datetime(),
      name: z.string(),
      configuration: z.object({
        type: z.enum(THRESHOLDS),
        bounds: z.object({ lower: z.number().nullable(), upper: z.number().nullable() }),
      }),
    }),
    condition: z.object({ type: z.enum(CONDITIONS) }),
    config: z.object({
      type: z.literal('TrendsAlertConfig'),
      series_index: z.int(),
      check_ongoing_interval: z.boolean(),
    }),
    state: z.enum(STATES),
    enabled: z.boolean(),
    last_notified_at: z.iso.datetime().nullable(),
    last_checked_at: z.iso.datetime().nullable(),
    next_check_at: z.iso.datetime().nullable(),
    checks: z
      .array(
        z.object({
          id: z.uuid(),
          created_at: z.iso.datetime(),
          calculated_value: z.number().nullable(),
          state: z.enum(STATES),
          targets_notified: z.boolean(),
        }),
      )
      .describe('The latest five, the newest first.'),
    calculation_interval: z.enum(CALCULATION_INTERVALS),
    snoozed_until: z.iso.datetime().nullable(),
    skip_weekend: z.boolean(),
    last_value: z.number().nullable(),
    notify_host: z.string().nullable().describe('Where `notify_url` leads; null: nowhere.'),
    notify_type: z.enum(NOTIFY_TYPES),
    latest_error: z
      .string()
      .nullable()
      .describe('Why the latest check or message failed, or since when a check is late.'),
    paused_reason: z.string().nullable().describe('Why the service has disabled it; enabling it again clears it.'),
  })
  .meta({ id: 'Alert' });

/** Returns the public object of a stored alert; `latest_error`: what there is to tell of trouble. */
export function alertObject(
  item: AlertItem,
  insight: z.input<typeof TileInsight>,
  userOf: UserLookup,
  latest_error: string | null,
): z.input<typeof AlertObject> {
  const { type, lower, upper } = fromJsonText(item.threshold);
  return {
    id: item.id,
    created_by: userOf(item.created_by),
    created_at: wireInstant(item.created_at),
    insight,
    name: item.name,
    subscribed_users: fromJsonText(item.subscribed_users).flatMap((uuid) => userOf(uuid) ?? []),
    threshold: {
      id: item.threshold_id,
      created_at: wireInstant(item.created_at),
      name: item.threshold_name,
      configuration: { type, bounds: { lower, upper } },
    },
    condition: { type: item.condition },
    config: {
      type: 'TrendsAlertConfig',
      series_index: item.series_index,
      check_ongoing_interval: item.check_ongoing_interval,
    },
    state: item.state,
    enabled: item.enabled,
    last_notified_at: wireInstantOrNull(item.last_notified_at),
    last_checked_at: wireInstantOrNull(item.last_checked_at),
    next_check_at: item.enabled ? wireInstant(item.next_check_at) : null,
    checks: fromJsonText(item.checks).map(({ id, at, value, state, targets_notified }) => ({
      id,
      created_at: wireInstant(at),
      calculated_value: value,
      state,
      targets_notified,
    })),
    calculation_interval: item.calculation_interval,
    snoozed_until: wireInstantOrNull(item.snoozed_until),
    skip_weekend: item.skip_weekend,
    last_value: item.last_value,
    notify_host: item.notify_host,
    notify_type: item.notify_type,
    latest_error,
    paused_reason: item.paused_reason,
  };
}
