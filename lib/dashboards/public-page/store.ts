import type { OrganizationItem, ProjectItem } from '../../accounts/organizations/model.ts';
import { findProject } from '../../accounts/organizations/projects/store.ts';
import { findOrganization } from '../../accounts/organizations/store.ts';
import { counted, messageOf } from '../../basics/text.ts';
import { MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import { readInsights } from '../../insights/store.ts';
import type { Context } from '../../ports/context.ts';
import { fail } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Item } from '../../ports/table/table.ts';
import { ttlAt } from '../../ports/table/ttl.ts';
import { failFull } from '../../workers/turns.ts';
import type { DashboardWithInsights } from '../model.ts';
import { readDashboard } from '../store.ts';
import { insightsOf } from '../tiles.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    passwordTries: PasswordTriesItem;
  }
}

/** How often an address has tried in vain to enter the password of a link, in a piece of time. */
interface PasswordTriesItem extends Item {
  readonly tries?: number;
  /** Tries of which it is not known yet whether they are right. */
  readonly under_way?: number;
}

/** A dashboard that is open to whoever has its token. */
export interface SharedItem extends DashboardWithInsights {
  readonly project: ProjectItem;
  readonly organization: OrganizationItem;
}

/**
 * Returns the dashboard that a token opens to anybody; undefined when it opens none: the token is unknown, replaced, not
 * enabled or at its end, the dashboard, its project or its organization is deleted, or the organization shares nothing.
 * Two round trips, three with insights.
 */
export async function findShared(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  access_token: string,
): Promise<SharedItem | undefined> {
  const token = await table.get(keys.sharingToken(access_token));
  if (token === undefined) return undefined;
  const [stored, project, organization] = await Promise.all([
    readDashboard(table, token.project_id, token.dashboard_id),
    findProject(table, token.project_id),
    findOrganization(table, token.organization_id),
  ]);
  if (stored === undefined || project === undefined || organization === undefined) return undefined;
  const { summary, sharing, tiles } = stored;
  const isOpen =
    summary.deleted_at === null &&
    sharing.enabled &&
    sharing.access_token === access_token &&
    (sharing.expires_at ?? Infinity) > clock() &&
    organization.allow_publicly_shared_resources !== false;
  if (!isOpen) return undefined;
  return { stored, insights: await readInsights(table, summary.project_id, insightsOf(tiles)), project, organization };
}

/** Wrong ones of one address at one link, in so much time. */
const TRIES = { most: 10, ms: 5 * MINUTE_MS };

/**
 * Returns whether a password that is entered is right, by `isRight`. Throws a 429 when there were too many wrong ones, or
 * those under way might become too many. A try counts before it is made, so that of many at once no more are wrong than may
 * be; one that was right, or was not made, does not count any more.
 */
export async function countedTry(
  { table, clock, log }: Pick<Context, 'table' | 'clock' | 'log'>,
  token: string,
  address: string,
  isRight: () => Promise<boolean>,
): Promise<boolean> {
  // Most pages have no password, and functions start without what counts tries.
  const { networkOf } = await import('../../http/network.ts');
  const window = Math.floor(clock() / TRIES.ms);
  const ttl = ttlAt((window + 2) * TRIES.ms);
  const key = keys.passwordTries(token, networkOf(address), window);
  const count = (add: Readonly<Record<string, number>>) => table.write([{ change: key, add, set: { ttl } }]);
  const [written] = await count({ under_way: 1 });
  const { tries = 0, under_way = 0 } = written ?? {};
  let isWrong = false;
  try {
    if (tries >= TRIES.most) failTried(window, clock());
    if (tries + under_way > TRIES.most) failFull('Many enter the password from your network at this moment.');
    isWrong = !(await isRight());
    return !isWrong;
  } finally {
    // What cannot be counted goes on being under way, for as long as wrong ones count.
    await count(isWrong ? { under_way: -1, tries: 1 } : { under_way: -1 }).catch((error: unknown) =>
      log.warning('a try of a password goes on being counted', { reason: messageOf(error) }),
    );
  }
}

function failTried(window: number, now: number): never {
  const seconds = Math.ceil(((window + 1) * TRIES.ms - now) / SECOND_MS);
  fail('throttled', {
    detail: `There were too many tries. Try again in ${counted(Math.ceil(seconds / 60), 'minute')}.`,
    headers: { 'Retry-After': String(seconds) },
  });
}
