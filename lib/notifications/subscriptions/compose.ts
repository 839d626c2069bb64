/** Composes what a subscription sends when it is due: the numbers of an insight, or of those of a dashboard. */
import { insightMoment } from '../../accounts/organizations/projects/time.ts';
import { counted, shortened } from '../../basics/text.ts';
import type { Cell, NumberTable } from '../../charts/chart.ts';
import { figure } from '../../charts/figure.ts';
import { dashboardOverrides } from '../../dashboards/answers.ts';
import { isPersonal } from '../../dashboards/insights/public-answer.ts';
import { chartOfAnswer } from '../../dashboards/insights/public-chart.ts';
import { seenInsights } from '../../dashboards/insights/visibility.ts';
import { dashboardName, inLayoutOrder } from '../../dashboards/model.ts';
import { maySee } from '../../dashboards/rules.ts';
import { readDashboard } from '../../dashboards/store.ts';
import { insightsOf } from '../../dashboards/tiles.ts';
import { wireInstant } from '../../http/instant.ts';
import { answersIn } from '../../insights/answering/answers.ts';
import { type InsightItem, insightName } from '../../insights/model.ts';
import type { Overrides } from '../../insights/overrides.ts';
import { queryOf } from '../../insights/results.ts';
import { readInsights } from '../../insights/store.ts';
import type { Context } from '../../ports/context.ts';
import { Failure } from '../../ports/errors.ts';
import { fromJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { NotifierInput } from '../../workflow/messages.ts';
import { doWhatIsDue } from '../due.ts';
import { dashboardLink, insightLink } from '../links.ts';
import { packedFigure } from '../messages/chart-pictures.ts';
import type { Message, Outcome, ShownInsight } from '../messages/message.ts';
import { subscriptionTargets } from '../messages/targets.ts';
import { failed, paused, reasonOf, UNSEEN } from '../notifier.ts';
import type { NotifierTenant } from '../tenant.ts';
import type { SubscriptionItem } from './model.ts';
import { dueOf } from './rules.ts';
import { nextTime } from './schedule.ts';
import { scheduleText } from './schedule-text.ts';

type ComposeContext = Pick<Context, 'table' | 'clock' | 'answers' | 'newId' | 'settings' | 'log' | 'pictures'>;

/**
 * Composes what a subscription sends when it is due, as `doWhatIsDue` says; what was missed is sent once. Throws `Transient`
 * when too much waits for an answer.
 */
export const composeSubscription = (
  context: ComposeContext,
  input: NotifierInput,
  signal: AbortSignal,
): Promise<void> =>
  doWhatIsDue(context, input, {
    kind: 'subscription',
    key: keys.subscription(input.project, Number(input.id)),
    field: 'next_delivery_date',
    dueOf,
    nextOf: ({ schedule }, now, timezone) => nextTime(fromJsonText(schedule), now, timezone),
    outcome: (item, tenant, now) => outcome(context, item, tenant, signal, now),
  });

const NOTHING: Outcome = { set: {}, messages: [] };

async function outcome(
  context: ComposeContext,
  item: SubscriptionItem,
  tenant: NotifierTenant,
  signal: AbortSignal,
  now: number,
): Promise<Outcome> {
  const found = await subjectOf(context, item, tenant);
  // What is deleted may come back, and its subscription with it.
  if (found === 'deleted') return NOTHING;
  if (found === 'unseen') return { set: paused(UNSEEN), messages: [] };
  try {
    const shown = await shownInsights(context, item, found, tenant, signal);
    const made = messageOf(item, found, shown, now);
    return { set: {}, messages: subscriptionTargets(item).map((target) => ({ ...made, target })) };
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'validation') throw error;
    return { set: failed(item, error.message, now), messages: [] };
  }
}

/** So many insights of a dashboard are sent. */
const MAX_INSIGHTS = 25;
/** They are stored once for each of 20 targets, in one transaction of at most 4 MB. */
const MAX_BYTES = 150_000;
/** A mail shows the pictures of so many insights; their charts are kept beside the numbers in so many characters. */
const MAX_PICTURES = 6;
const MAX_FIGURES = 40_000;

/** Returns the first insights with their numbers, and pictures of some: as many as a message holds. */
async function shownInsights(
  context: ComposeContext,
  item: SubscriptionItem,
  subject: Subject,
  tenant: NotifierTenant,
  signal: AbortSignal,
): Promise<ShownInsight[]> {
  // Only mails show pictures, and only where there is a browser that makes them.
  const withFigures = item.target_type === 'email' && context.pictures !== null;
  const asking = { signal, user: item.created_by, withFigures };
  const shown: ShownInsight[] = [];
  let [bytes, pictured] = [0, 0];
  for (const insight of subject.insights.slice(0, MAX_INSIGHTS)) {
    const one = await shownInsight(context, insight, subject, tenant, asking);
    const { figure: picture = '', ...numbers } = one;
    bytes += Buffer.byteLength(JSON.stringify(numbers));
    if (bytes > MAX_BYTES) break;
    const isPictured = picture !== '' && shown.length < MAX_PICTURES && pictured + picture.length <= MAX_FIGURES;
    pictured += isPictured ? picture.length : 0;
    shown.push(isPictured ? one : numbers);
  }
  return shown;
}

/** What a subscription sends. */
interface Subject {
  readonly name: string;
  readonly link: string | null;
  readonly insights: readonly InsightItem[];
  readonly dashboard: number | undefined;
  readonly overrides: Overrides;
}

/** Returns what is sent, as far as whoever made the subscription sees it. */
async function subjectOf(
  context: ComposeContext,
  item: SubscriptionItem,
  { organization, project, membership }: NotifierTenant,
): Promise<Subject | 'deleted' | 'unseen'> {
  const { table } = context;
  if (item.dashboard !== null) {
    const stored = await readDashboard(table, project.id, item.dashboard);
    if (stored?.summary.deleted_at !== null) return 'deleted';
    if (membership === undefined || !maySee(stored.summary, membership)) return 'unseen';
    const chosen = new Set(fromJsonText(item.dashboard_export_insights));
    const tiles = inLayoutOrder(stored.tiles).map(({ tile }) => tile);
    const ids = insightsOf(tiles).filter((id) => chosen.size === 0 || chosen.has(id));
    const insights = await readInsights(table, project.id, ids);
    return {
      name: dashboardName(stored.summary),
      link: dashboardLink(context, project.id, item.dashboard),
      insights: [...insights.values()].filter(({ deleted_at }) => deleted_at === null),
      dashboard: item.dashboard,
      overrides: dashboardOverrides(stored),
    };
  }
  const insight = await table.get(keys.insight(project.id, item.insight ?? 0));
  if (insight?.deleted_at !== null) return 'deleted';
  const [seen] =
    membership === undefined ? [] : await seenInsights(table, { organization, project, membership }, [insight]);
  if (seen === undefined) return 'unseen';
  const link = insightLink(context, project.id, seen.id);
  return { name: insightName(seen), link, insights: [seen], dashboard: undefined, overrides: {} };
}

/** What is sent of a table. */
const MAX_ROWS = 10;
const MAX_COLUMNS = 8;
const MAX_CELL_LENGTH = 60;
const MAX_TEXT_LENGTH = 300;

/** Pictures that say nothing that the table does not. */
const TEXTS: ReadonlySet<string> = new Set(['table', 'none']);
/** The numbers beside a picture are not in the picture. */
const NO_NUMBERS = { columns: [], rows: [] };

/** Returns an insight with its numbers, or why there are none. Throws `Transient` for what may pass. */
async function shownInsight(
  context: ComposeContext,
  insight: InsightItem,
  { dashboard, overrides }: Subject,
  { project }: NotifierTenant,
  { signal, user, withFigures }: { readonly signal: AbortSignal; readonly user: string; readonly withFigures: boolean },
): Promise<ShownInsight> {
  const head = {
    name: shortened(insightName(insight), MAX_TEXT_LENGTH),
    link: insightLink(context, project.id, insight.id),
  };
  const without = (summary: string): ShownInsight => ({
    ...head,
    summary: shortened(summary, MAX_TEXT_LENGTH),
    table: { columns: [], rows: [] },
    moreRows: 0,
    moreColumns: 0,
  });
  const { asked, reason } = queryOf(insight, {
    project,
    refresh: 'blocking',
    overrides,
    ...(dashboard === undefined ? {} : { dashboard }),
  });
  if (asked === undefined || insight.query === null) return without(reason ?? 'It has no query.');
  if (isPersonal(insight)) return without('Its rows are about persons, and are not sent.');
  // Where answering is not offered, all of it fails.
  const answers = answersIn(context);
  try {
    const told = await answers.ask(asked, 'blocking', { callerLeft: signal, user, isNotifier: true });
    const chart = chartOfAnswer({
      project: project.id,
      query: insight.query,
      timezone: insightMoment(project).timezone,
      told,
      now: context.clock(),
    });
    return {
      ...head,
      summary: shortened(chart.summary, MAX_TEXT_LENGTH),
      ...shownTable(chart.table, asked.query.kind !== 'HogQLQuery'),
      // A picture of what is a table is the same table.
      ...(withFigures && !TEXTS.has(chart.picture.type)
        ? { figure: packedFigure(figure({ ...chart, table: NO_NUMBERS }).toString()) }
        : {}),
    };
  } catch (error) {
    return without(reasonOf(error));
  }
}

const shorter = (cell: Cell): Cell => (typeof cell === 'string' ? shortened(cell, MAX_CELL_LENGTH) : cell);

/** Returns what a message shows of a chart's table, and how much it leaves out; `mayBeByDays`: it may have a row a day. */
function shownTable(
  table: NumberTable,
  mayBeByDays: boolean,
): Pick<ShownInsight, 'table' | 'moreRows' | 'moreColumns'> {
  // Of days the latest are news; of anything else the first are the greatest, or as HogQL orders them.
  const isByDays = table.columns[0] === 'Date' && mayBeByDays;
  const rows = isByDays ? table.rows.slice(-MAX_ROWS) : table.rows.slice(0, MAX_ROWS);
  return {
    table: {
      ...table,
      columns: table.columns.slice(0, MAX_COLUMNS).map((name) => shortened(name, MAX_CELL_LENGTH)),
      rows: rows.map((row) => row.slice(0, MAX_COLUMNS).map(shorter)),
    },
    moreRows: table.rows.length - rows.length,
    moreColumns: Math.max(0, table.columns.length - MAX_COLUMNS),
  };
}

function messageOf(
  item: SubscriptionItem,
  { name, link, insights }: Subject,
  shown: readonly ShownInsight[],
  now: number,
): Omit<Message, 'target'> {
  const title = item.title || name;
  const more = insights.length - shown.length;
  return {
    organization: item.organization_id,
    project: item.project_id,
    by: { kind: 'subscription', id: item.id },
    type: 'subscription.due',
    at: now,
    title,
    lines: [
      `${title === name ? 'It is' : `${name},`} ${scheduleText(fromJsonText(item.schedule))}.`,
      ...(more > 0 ? [`${counted(more, 'more insight')} ${more === 1 ? 'is' : 'are'} on the dashboard.`] : []),
    ],
    link,
    insights: shown,
    data: {
      subscription: item.id,
      title,
      team_id: item.project_id,
      dashboard: item.dashboard,
      insight: item.insight,
      name,
      computed_at: wireInstant(now),
      link,
    },
  };
}
