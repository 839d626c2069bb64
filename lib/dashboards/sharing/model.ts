import * as z from 'zod';
import { boolean, datetime, text } from '../../http/fields.ts';
import { wireInstant } from '../../http/instant.ts';
import { SentBreakdown, SentFilters } from '../../insights/filter-schema.ts';
import { fromJsonText, type JsonText } from '../../ports/table/json-text.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    sharing: SharingItem;
    sharingToken: SharingTokenItem;
  }
}

/** The sharing of a dashboard as it is stored, from the dashboard's creation on: its public link. */
export interface SharingItem extends Item {
  readonly enabled: boolean;
  readonly access_token: string;
  /** Whether this token's page was ever open. Then sharing again needs a new token, so that no old link revives. */
  readonly was_open: boolean;
  /** The hash of the password that opens the page; absent and null: the link is enough. */
  readonly password?: string | null;
  /** From then on the page is closed; absent and null: it does not end. Milliseconds since 1970. */
  readonly expires_at?: number | null;
  /** Whether readers may choose another range of dates. Absent: they may not. */
  readonly allow_date_range?: boolean;
  /** The filters that readers may choose among. Absent: none. */
  readonly filter_choices?: JsonText<FilterChoice[]>;
  /** The dashboard's own creation. */
  readonly created_at: number;
  /** Counts its changes (ETag). */
  readonly ver: number;
}

/** The dashboard that a token opens, if its sharing is enabled and has this token. */
export interface SharingTokenItem extends Item {
  readonly organization_id: string;
  readonly project_id: number;
  readonly dashboard_id: number;
}

/** A filter that readers of a page may choose by its name, which is all of it that they see. */
export interface FilterChoice {
  readonly name: string;
  /** Hold beside those of the dashboard and its insights. */
  readonly properties?: unknown;
  /** Takes the place of the insights' breakdowns. */
  readonly breakdown_filter?: unknown;
}

/** With the ranges of dates, each choice is an answer more of every insight. */
const MAX_CHOICES = 8;
const MAX_NAME = 60;

const filterChoices = () =>
  z
    .array(
      z.object({
        name: text({ max: MAX_NAME }),
        properties: SentFilters.optional(),
        breakdown_filter: SentBreakdown.optional(),
      }),
    )
    .max(MAX_CHOICES, `There are at most ${MAX_CHOICES} choices.`);

/** A password is so long, in characters. */
const PASSWORD = { least: 8, most: 200 };

/** The body that opens or closes a dashboard's public page, and says who may see it. */
export const SharingPatch = z.object({
  enabled: boolean().optional(),
  password: text({ max: PASSWORD.most, trim: false })
    .refine(
      (password) => password.length >= PASSWORD.least,
      `Ensure this field has at least ${PASSWORD.least} characters.`,
    )
    .nullable()
    .optional()
    .describe('Opens the page beside the link. It is stored as its hash, and never returned; null takes it away.'),
  password_required: boolean().optional().describe('False takes the password away.'),
  expires_at: datetime()
    .nullable()
    .optional()
    .describe('When the page closes by itself: in the future, where it is open.'),
  allow_date_range: boolean().optional().describe('Whether readers may choose another range of dates.'),
  filter_choices: filterChoices()
    .optional()
    .describe(
      'The filters that readers may choose among, by name: `properties` hold beside those of the dashboard, a ' +
        "`breakdown_filter` takes the place of the insights'. Readers see the names.",
    ),
});

/** A dashboard's public link. */
export const Sharing = z
  .object({
    created_at: z.iso.datetime().describe("The dashboard's."),
    enabled: z.boolean(),
    access_token: z.string().describe('Opens `/shared/<token>` while sharing is enabled.'),
    password_required: z.boolean(),
    expires_at: z.iso.datetime().nullable(),
    allow_date_range: z.boolean(),
    filter_choices: z.array(
      z.object({
        name: z.string(),
        properties: SentFilters.optional(),
        breakdown_filter: SentBreakdown.optional(),
      }),
    ),
  })
  .meta({ id: 'DashboardSharing' });

/** Returns the filters that readers of a page may choose among. */
export const choicesOf = ({ filter_choices }: Pick<SharingItem, 'filter_choices'>): FilterChoice[] =>
  filter_choices === undefined ? [] : fromJsonText(filter_choices);

/** Returns the public object of a dashboard's sharing. */
export function sharingObject(sharing: SharingItem): z.input<typeof Sharing> {
  const { created_at, enabled, access_token, password, expires_at } = sharing;
  return {
    created_at: wireInstant(created_at),
    enabled,
    access_token,
    password_required: typeof password === 'string',
    expires_at: typeof expires_at === 'number' ? wireInstant(expires_at) : null,
    allow_date_range: sharing.allow_date_range ?? false,
    filter_choices: choicesOf(sharing),
  };
}
