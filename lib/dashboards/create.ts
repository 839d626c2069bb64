/** Makes dashboards: empty, from a body, from a template, or from another dashboard's tiles. */
import type * as z from 'zod';
import { placeIn } from '../accounts/organizations/projects/store.ts';
import type { Tenant, Writing } from '../accounts/organizations/tenant.ts';
import { DAY_MS } from '../basics/units.ts';
import { tagTexts } from '../http/tags.ts';
import type { InsightItem } from '../insights/model.ts';
import { checkInsightSize } from '../insights/rules.ts';
import { deletedInsight, insightItem, readInsights } from '../insights/store.ts';
import type { Context } from '../ports/context.ts';
import { invalid } from '../ports/errors.ts';
import { groupsOf, weighed } from '../ports/table/groups.ts';
import { keys, places } from '../ports/table/keys.ts';
import { nextNumber } from '../ports/table/sequence.ts';
import type { Op, Table } from '../ports/table/table.ts';
import { dataRange } from './data-range.ts';
import { filtersText, objectText } from './fields.ts';
import { bringBack } from './insights/deletion.ts';
import { readSeenInsights } from './insights/visibility.ts';
import {
  type DashboardDetailItem,
  type DashboardInput,
  type DashboardItem,
  type DashboardWithInsights,
  RESTRICTION,
  type TileItem,
} from './model.ts';
import { maySee } from './rules.ts';
import type { SharingItem, SharingTokenItem } from './sharing/model.ts';
import { newSharing } from './sharing/store.ts';
import { aboutDashboard, checkDashboardSize, readDashboard } from './store.ts';
import { checkedTemplate, templateNamed, tilesOfTemplate } from './templates/index.ts';
import type { Template } from './templates/template.ts';
import {
  checkTileCount,
  insightsOf,
  invalidReference,
  lookOf,
  type NewTile,
  newTiles,
  onePerInsight,
  tileCopy,
} from './tiles.ts';

/** The fields of a new dashboard. */
interface NewDashboard
  extends Pick<DashboardItem, 'name' | 'description' | 'pinned' | 'creation_mode' | 'tags' | 'restriction_level'>,
    Pick<DashboardDetailItem, 'use_template' | 'use_dashboard' | 'delete_insights' | 'filters' | 'variables'> {
  readonly isDeleted: boolean;
  readonly tiles: readonly NewTile[];
}

type CreateContext = Pick<Context, 'table' | 'clock' | 'random'>;
type IdempotencyOps = (dashboardId: string) => readonly Op[];

/** Makes a dashboard from a body. Throws a 400 for a template, dashboard or insight that is not there. */
export async function createDashboard(
  context: CreateContext,
  creator: Writing,
  input: z.output<typeof DashboardInput>,
  idempotencyOps: IdempotencyOps,
): Promise<DashboardWithInsights> {
  const use_template = input.use_template ?? '';
  const use_dashboard = input.use_dashboard ?? null;
  if (use_template !== '' && use_dashboard !== null) {
    invalid(null, '`use_dashboard` and `use_template` cannot be used together');
  }
  const template = use_template === '' ? undefined : templateNamed(use_template);
  const author = creator.tenant.membership.user_uuid;
  const sent = newTiles(input.tiles ?? [], author);
  const copied = use_dashboard === null ? [] : await copyTiles(context.table, creator.tenant, use_dashboard, input);
  // Who sends a dashboard as it was read sends the tiles of its template with it.
  const ofTemplate = template === undefined || sent.length > 0 ? [] : tilesOfTemplate(template, author);
  const tiles = onePerInsight([...ofTemplate, ...copied, ...sent]);
  checkTileCount(tiles.length);
  const made: NewDashboard = {
    name: input.name ?? template?.template_name ?? '',
    description: input.description ?? template?.dashboard_description ?? '',
    pinned: input.pinned ?? false,
    isDeleted: input.deleted ?? false,
    creation_mode: template === undefined ? (use_dashboard === null ? 'default' : 'duplicate') : 'template',
    tags: tagTexts(input.tags ?? template?.tags ?? []),
    restriction_level: input.restriction_level ?? RESTRICTION.everyone,
    use_template,
    use_dashboard,
    delete_insights: input.delete_insights ?? false,
    filters: filtersText(input.filters) ?? objectText(await templateFilters(context, creator, template)) ?? '{}',
    variables: objectText(input.variables) ?? '{}',
    tiles,
  };
  return writeDashboard(context, creator, made, idempotencyOps);
}

/** The templates that come with the service show so many days, up to today. */
const TEMPLATE_DAYS = 30;

/**
 * Returns the filters of a template that came with the service. Where a project's events are all older than the days that
 * the template shows, such as those of an imported log, they show the last days that have some.
 */
async function templateFilters(
  context: CreateContext,
  { tenant }: Writing,
  template: Template | undefined,
): Promise<Template['dashboard_filters'] | undefined> {
  if (template === undefined) return undefined;
  const since = context.clock() - TEMPLATE_DAYS * DAY_MS;
  const range = await dataRange(context, placeIn(tenant).project, { since });
  return { ...template.dashboard_filters, ...range };
}

/** Makes a dashboard from a template that the caller sent; its tiles have no author. Throws a 400 when it is none. */
export async function createFromTemplate(
  context: CreateContext,
  creator: Writing,
  sent: unknown,
  idempotencyOps: IdempotencyOps,
): Promise<DashboardWithInsights> {
  const template: Template = checkedTemplate(sent);
  const made: NewDashboard = {
    name: template.template_name,
    description: template.dashboard_description,
    pinned: false,
    isDeleted: false,
    creation_mode: 'default',
    tags: tagTexts(template.tags ?? []),
    restriction_level: RESTRICTION.everyone,
    use_template: '',
    use_dashboard: null,
    delete_insights: false,
    filters: filtersText(template.dashboard_filters, 'template__dashboard_filters') ?? '{}',
    variables: '{}',
    tiles: tilesOfTemplate(template, null),
  };
  return writeDashboard(context, creator, made, idempotencyOps);
}

/** Returns new tiles for those of another dashboard: of the same insights, or of copies of them. */
async function copyTiles(
  table: Table,
  tenant: Tenant,
  sourceId: number,
  { duplicate_tiles = false }: z.output<typeof DashboardInput>,
): Promise<NewTile[]> {
  const { project, membership } = placeIn(tenant);
  const source = await readDashboard(table, project.id, sourceId);
  if (source?.summary.deleted_at !== null || !maySee(source.summary, membership)) {
    invalid('use_dashboard', 'Invalid value provided');
  }
  const insights = await readInsights(table, project.id, insightsOf(source.tiles));
  return source.tiles.flatMap((tile): NewTile[] => {
    const { insight: id } = tile;
    const insight = id === null ? undefined : insights.get(id);
    if (id !== null && insight?.deleted_at !== null) return [];
    return [
      duplicate_tiles
        ? tileCopy(tile, insight, membership.user_uuid)
        : { ...lookOf(tile), insight: id, created_by: membership.user_uuid },
    ];
  });
}

/**
 * Returns the insights that new tiles name, by their numbers. Throws a 400 for one that is not there, deleted, or not
 * theirs to see.
 */
async function readNamedInsights(table: Table, tenant: Tenant, tiles: readonly NewTile[]) {
  const named = insightsOf(tiles);
  const seen = await readSeenInsights(table, tenant, named);
  const missing = named.find((id) => !seen.has(id));
  if (missing !== undefined) invalidReference('tiles', missing);
  return seen;
}

/** What new tiles and the insights that are made with them are numbered from, and the insights that they name. */
interface Numbers {
  readonly firstTile: number;
  readonly firstInsight: number;
  readonly named: ReadonlyMap<number, InsightItem>;
}

/** Takes the numbers of new tiles. Throws a 400 for an insight that is not there. */
export async function numbersFor(table: Table, tenant: Tenant, tiles: readonly NewTile[]): Promise<Numbers> {
  const inner = tiles.filter(({ insight }) => typeof insight === 'object' && insight !== null).length;
  const [firstTile, firstInsight, named] = await Promise.all([
    tiles.length === 0 ? 0 : nextNumber(table, 'tile', tiles.length),
    inner === 0 ? 0 : nextNumber(table, 'insight', inner),
    readNamedInsights(table, tenant, tiles),
  ]);
  return { firstTile, firstInsight, named };
}

/** Returns new tiles and the insights that are made with them, which are not yet written. */
export function newItems(
  place: { readonly project: number; readonly dashboard: number; readonly now: number },
  { firstTile, firstInsight }: Numbers,
  made: readonly NewTile[],
): { readonly tiles: TileItem[]; readonly insights: InsightItem[] } {
  const insights: InsightItem[] = [];
  const tiles = made.map((tile, at) => {
    const id = firstTile + at;
    if (typeof tile.insight === 'number' || tile.insight === null) {
      return tileItem({ ...place, id }, { ...tile, insight: tile.insight });
    }
    const insight = insightItem({ ...place, id: firstInsight + insights.length }, tile.insight);
    checkInsightSize(insight, 'tiles');
    insights.push(insight);
    return tileItem({ ...place, id }, { ...tile, insight: insight.id });
  });
  return { tiles, insights };
}

/** Writes a dashboard with its tiles and their insights. */
async function writeDashboard(
  context: CreateContext,
  { tenant, activityOps }: Writing,
  { isDeleted, tiles: made, use_template, use_dashboard, delete_insights, filters, variables, ...shown }: NewDashboard,
  idempotencyOps: IdempotencyOps,
): Promise<DashboardWithInsights> {
  const { table, clock, random } = context;
  const project = placeIn(tenant).project.id;
  const now = clock();
  const [id, numbers] = await Promise.all([nextNumber(table, 'dashboard'), numbersFor(table, tenant, made)]);
  const { tiles, insights } = newItems({ project, dashboard: id, now }, numbers, made);
  const deleted_at = isDeleted ? now : null;
  const summary: DashboardItem = {
    ...keys.dashboard(project, id),
    ...indexPlace(project, id, { ...shown, deleted_at }),
    ...shown,
    id,
    project_id: project,
    created_at: now,
    created_by: tenant.membership.user_uuid,
    is_shared: false,
    deleted_at,
    tiles: tiles.length,
    ver: 1,
  };
  const kept = { use_template, use_dashboard, delete_insights, filters, variables };
  const detail: DashboardDetailItem = { ...keys.dashboardDetail(project, id), ...kept };
  checkDashboardSize(summary, detail);
  const { sharing, token } = newSharing(random, summary, tenant);
  const also = [...idempotencyOps(String(id)), ...activityOps({ ...aboutDashboard(summary), activity: 'created' })];
  await writeWhole(table, { summary, others: [detail, sharing, token], insights, tiles, also });
  return {
    stored: { summary, detail, sharing, tiles, collaborators: [], rules: [] },
    insights: new Map([...numbers.named, ...insights.map((insight) => [insight.id, insight] as const)]),
  };
}

/** Returns the place of a summary in the indexes: among the project's dashboards, or among what was deleted. */
export function indexPlace(
  project: number,
  id: number,
  { name, pinned, deleted_at }: Pick<DashboardItem, 'name' | 'pinned' | 'deleted_at'>,
) {
  return deleted_at === null
    ? places.dashboardOf(project, pinned, name, id)
    : places.deletedDashboardOf(project, deleted_at, id);
}

/** Returns a new tile, which is not yet written. */
export function tileItem(
  { project, dashboard, id, now }: { project: number; dashboard: number; id: number; now: number },
  tile: Omit<NewTile, 'insight'> & { readonly insight: number | null },
): TileItem {
  const { insight, created_by } = tile;
  return {
    ...keys.tile(project, dashboard, id),
    ...(insight === null ? {} : places.tileOf(project, insight, dashboard, id)),
    id,
    insight,
    ...lookOf(tile),
    created_at: now,
    created_by,
    last_modified_at: now,
    last_modified_by: created_by,
    ver: 1,
  };
}

/** Returns the ops that put new items, in groups that each fit into one transaction. */
const putsOf = (items: readonly (InsightItem | TileItem)[]): Op[][] =>
  groupsOf(items.map((item) => weighed({ put: item, if: 'absent' }, item)));

/**
 * Writes what may be too much for one transaction so that what is cut off is seen by nobody: then the summary and the
 * insights stand among what was deleted, where a purge finds them, until all is written. The insights come back once the
 * dashboard is there, which then shows what there is of them; who repeats the create brings back the rest.
 */
async function writeWhole(
  table: Table,
  whole: {
    summary: DashboardItem;
    others: readonly (DashboardDetailItem | SharingItem | SharingTokenItem)[];
    insights: readonly InsightItem[];
    tiles: readonly TileItem[];
    /** Ops of the transaction after which the dashboard is there. */
    also: readonly Op[];
  },
): Promise<void> {
  const { summary, others, insights, tiles, also } = whole;
  const head = (item: DashboardItem): Op[] => [item, ...others].map((one): Op => ({ put: one, if: 'absent' }));
  const together = putsOf([...insights, ...tiles]);
  if (together.length <= 1) {
    await table.write([...head(summary), ...together.flat(), ...also]);
    return;
  }
  const { project_id, id, name, pinned, created_at } = summary;
  const place = indexPlace(project_id, id, { name, pinned, deleted_at: created_at });
  await table.write(head({ ...summary, ...place, deleted_at: created_at }));
  const hidden = insights.map((insight) => ({ ...deletedInsight(insight, created_at, id), ver: insight.ver }));
  for (const group of putsOf([...hidden, ...tiles])) await table.write(group);
  await table.write([{ put: summary, if: { is: { id, ver: summary.ver } } }, ...also]);
  await bringBack(
    table,
    summary,
    insights.map((insight) => insight.id),
  );
}
