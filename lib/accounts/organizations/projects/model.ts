import * as z from 'zod';
import { boolean, choice, freeObject, text, timeZone } from '../../../http/fields.ts';
import { wireInstant } from '../../../http/instant.ts';
import { LEVELS, type MembershipLevel } from '../../../http/levels.ts';
import { fromJsonText } from '../../../ports/table/json-text.ts';
import { type ProjectItem, Team, teamObject } from '../model.ts';

/** Filters of a project's own people, at most so many. */
const MAX_TEST_FILTERS = 50;

/** The body that makes a project, or changes one. */
export const ProjectInput = z.object({
  name: text({ max: 200 }).optional(),
  timezone: timeZone().optional().describe('As IANA names it: in it days, weeks and months of insights begin.'),
  week_start_day: choice([0, 1])
    .nullable()
    .optional()
    .describe('Weeks begin on Sunday (0, the default) or Monday (1).'),
  test_account_filters: z
    .array(freeObject())
    .max(MAX_TEST_FILTERS)
    .optional()
    .describe('Property filters that queries add by `filterTestAccounts`.'),
  anonymize_ips: boolean()
    .optional()
    .describe('True: events that SDKs send land without `$ip`, their own too. What has landed keeps it.'),
});

/** The body that gives a project another token. */
export const TokenReset = z.object({
  keep_old_for_a_day: boolean()
    .optional()
    .describe(
      'The token before works for another day, as those before it do till theirs is over. Default: all end at once.',
    ),
});

/** PostHog's settings of what is not done here, as they always are. Terraform wants to be told of what it sends. */
const SETTINGS = {
  heatmaps_opt_in: false,
  autocapture_exceptions_opt_in: false,
  autocapture_web_vitals_opt_in: false,
  session_recording_opt_in: false,
  session_recording_network_payload_capture_config: null,
  capture_performance_opt_in: true,
  surveys_opt_in: false,
  cookieless_server_hash_mode: 0,
  app_urls: [],
  recording_domains: [],
  test_account_filters_default_checked: false,
};

/** A project: what PostHog calls a project and its environment, with one number. */
export const Project = Team.extend({
  created_at: z.iso.datetime(),
  week_start_day: z.literal([0, 1]).nullable(),
  test_account_filters: z.array(freeObject()),
  effective_membership_level: z.literal(Object.values(LEVELS)).describe("The caller's: 1 member, 8 admin, 15 owner."),
  anonymize_ips: z.boolean(),
  heatmaps_opt_in: z.boolean(),
  autocapture_exceptions_opt_in: z.boolean(),
  autocapture_web_vitals_opt_in: z.boolean(),
  session_recording_opt_in: z.boolean(),
  session_recording_network_payload_capture_config: freeObject().nullable(),
  capture_performance_opt_in: z.boolean(),
  surveys_opt_in: z.boolean(),
  cookieless_server_hash_mode: z.int(),
  app_urls: z.array(z.string()),
  recording_domains: z.array(z.string()),
  test_account_filters_default_checked: z.boolean(),
}).meta({ id: 'Project' });

/** Returns the public object of a stored project, for a caller with this level in its organization. */
export function projectObject(item: ProjectItem, level: MembershipLevel): z.input<typeof Project> {
  return {
    ...teamObject(item.organization_id, item),
    created_at: wireInstant(item.created_at),
    week_start_day: item.week_start_day ?? null,
    test_account_filters: [...(item.test_account_filters === undefined ? [] : fromJsonText(item.test_account_filters))],
    effective_membership_level: level,
    anonymize_ips: item.anonymize_ips ?? false,
    ...SETTINGS,
  };
}
