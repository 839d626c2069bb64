/** What tells people something by itself: alerts and subscriptions, as far as they are alike. */
import type { MembershipItem, ProjectItem } from '../accounts/organizations/model.ts';
import { findProject, placeIn } from '../accounts/organizations/projects/store.ts';
import type { Tenant } from '../accounts/organizations/tenant.ts';
import { DAY_MS, MINUTE_MS } from '../basics/units.ts';
import { wireInstant } from '../http/instant.ts';
import { LEVELS } from '../http/levels.ts';
import { jobOps } from '../jobs/job.ts';
import { Failure, fail, invalid, Transient } from '../ports/errors.ts';
import { keys } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Item, Op, Range, Table } from '../ports/table/table.ts';
import { countedOp, untilCounted } from '../ports/table/until-written.ts';
import type { Belonging } from '../ports/vault/vault.ts';

/** What is stored of both. Instants are milliseconds since 1970. */
export interface NotifierItem extends Item {
  readonly id: string | number;
  readonly organization_id: string;
  readonly project_id: number;
  readonly created_at: number;
  /** Who made it: it tells what they may see, when it tells it. */
  readonly created_by: string;
  readonly enabled: boolean;
  /** The address of a webhook, sealed. */
  readonly notify_url: string | null;
  /** What signs for it, sealed. */
  readonly notify_secret: string | null;
  /** Why the latest check or message failed; null: it did not. */
  readonly latest_error: string | null;
  /** Since when nothing has succeeded; null: the latest did. */
  readonly failing_since: number | null;
  /** Why the service has paused it; null: it has not. */
  readonly paused_reason: string | null;
  /** Counts what people change of it (ETag). */
  readonly ver: number;
}

/** Who is told of is found by these. */
export type NotifierKind = 'alert' | 'subscription';

/** Failures of so many days in a row pause it. */
const FAILING_DAYS = 7;

/** What is set when something has succeeded. */
export const SUCCEEDED = { latest_error: null, failing_since: null } as const;

/** What is set when it begins anew: it was made, or enabled again. */
const UNTRIED = { ...SUCCEEDED, paused_reason: null } as const;

/** Returns what of a new one does not depend on what it tells. */
export const newNotifier = <Id extends NotifierItem['id']>(tenant: Tenant, id: Id, now: number) => ({
  id,
  organization_id: tenant.organization.id,
  project_id: placeIn(tenant).project.id,
  created_at: now,
  created_by: tenant.membership.user_uuid,
  notify_url: null,
  notify_secret: null,
  enabled: true,
  ...UNTRIED,
  ver: 1,
});

/** Returns what is set when somebody says whether it is enabled; undefined: they do not. */
export const enabledFields = (enabled: boolean | undefined) =>
  enabled === undefined ? {} : { enabled, paused_reason: null, ...(enabled ? UNTRIED : {}) };

/**
 * Returns whether a change does nothing but stop it: that is for whoever may change it, though they may not see any more what
 * it tells.
 */
export function onlyStops({
  enabled,
  deleted,
  ...others
}: {
  readonly enabled?: boolean | undefined;
  readonly deleted?: boolean | undefined;
}): boolean {
  const isStop = (enabled === false || deleted === true) && enabled !== true && deleted !== false;
  return isStop && Object.values(others).every((value) => value === undefined);
}

/**
 * Throws a 403 for whoever neither made it nor is an admin: it tells what whoever made it may see, so nobody else says
 * where that goes.
 */
export function checkMayChange(
  kind: NotifierKind,
  { created_by }: Pick<NotifierItem, 'created_by'>,
  { user_uuid, level }: Pick<MembershipItem, 'user_uuid' | 'level'>,
): void {
  if (created_by === user_uuid || level >= LEVELS.admin) return;
  fail('permission_denied', `Only whoever made the ${kind}, and admins, may change it.`);
}

/**
 * Returns what is set when something has failed: after a week of nothing else it is paused, but not while the same is
 * still to be tried again.
 */
export function failed(
  { failing_since }: Pick<NotifierItem, 'failing_since'>,
  reason: string,
  now: number,
  { isOver = true }: { readonly isOver?: boolean } = {},
) {
  const since = failing_since ?? now;
  const isLong = isOver && now - since >= FAILING_DAYS * DAY_MS;
  return {
    latest_error: reason,
    failing_since: since,
    ...(isLong ? paused(`It has failed for ${FAILING_DAYS} days: ${reason}`) : {}),
  };
}

/** What is not done so long after it was due, is told as late. */
const LATE_MS = 10 * MINUTE_MS;

/** Returns why the latest check or message failed, and that the next one is late, if it is; `due` null: there is none. */
export function troubleOf({ latest_error }: Pick<NotifierItem, 'latest_error'>, due: number | null, now: number) {
  if (due === null || now - due < LATE_MS) return latest_error;
  const late = `What was due at ${wireInstant(due)} is late: it has not had its turn yet.`;
  return latest_error === null ? late : `${late} The one before: ${latest_error}`;
}

/** Returns what is set when it is paused. */
export const paused = (reason: string) => ({ enabled: false, paused_reason: reason, latest_error: reason });

/** Why it is paused when the person who made it may not see any more what it tells. */
export const UNSEEN = 'Whoever made it may not see it any more. Enable it again once they may.';

/** Returns whose the sealed address and secret of a notifier are. */
export const belongingOf = (kind: NotifierKind, organization: string, id: NotifierItem['id']): Belonging =>
  kind === 'alert' ? { organization, alert: String(id) } : { organization, subscription: String(id) };

/** Returns why a query has no answer, for people. Throws `Transient` for what may pass, and what is nobody's but ours. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Failure)) throw error;
  if (error.kind !== 'validation') throw new Transient(error.message, { cause: error });
  return error.message;
}

/** Returns the ops that let the next check or message be made at a time, or none (null). */
export function dueOps(
  kind: NotifierKind,
  item: Pick<NotifierItem, 'organization_id' | 'project_id' | 'id'>,
  due: number | null,
): Op[] {
  const { organization_id: organization, project_id: project, id } = item;
  return jobOps(kind, `${project}-${id}`, due, { organization, project, id });
}

/** A project has at most so many alerts, and so many subscriptions. */
const MAX_NOTIFIERS = 500;

/**
 * Returns what `write` returns, which is given the ops that make place for one more of a range, newest first, and are the last
 * of its transaction: where the range is full, the oldest goes of those that nobody sees any more, as `goneOf` tells them.
 * When others were made meanwhile, they are counted again. Throws a 400 when all are seen.
 */
export function inPlace<T extends NotifierItem, R>(
  table: Table,
  project: ProjectItem,
  about: {
    readonly kind: NotifierKind;
    readonly range: Range<T>;
    readonly goneOf: (items: readonly T[]) => readonly T[] | Promise<readonly T[]>;
  },
  write: (placeOps: readonly Op[]) => Promise<R>,
): Promise<R> {
  const { id } = project;
  const projectAgain = async () => (await findProject(table, id)) ?? fail('not_found', 'Project not found.');
  return untilCounted(project, projectAgain, async ({ notifiers_made }) => {
    const ops = await placeOps(table, about.kind, about.range, about.goneOf);
    const mark = countedOp(keys.project(id), { id, deleted_at: null }, ['notifiers_made', notifiers_made]);
    return write([mark, ...ops]);
  });
}

async function placeOps<T extends NotifierItem>(
  table: Table,
  kind: NotifierKind,
  range: Range<T>,
  goneOf: (items: readonly T[]) => readonly T[] | Promise<readonly T[]>,
): Promise<Op[]> {
  const { count = 0 } = await table.list(range, { limit: 1, count: true });
  if (count < MAX_NOTIFIERS) return [];
  const gone = (await goneOf(await listAll(table, range))).at(-1);
  if (gone === undefined) return invalid(null, `A project may have at most ${MAX_NOTIFIERS} ${kind}s.`);
  const { pk, sk, id, ver } = gone;
  return [{ remove: { pk, sk }, if: { is: { id, ver } } }, ...dueOps(kind, gone, null)];
}
