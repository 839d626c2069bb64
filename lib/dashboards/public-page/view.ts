/** What somebody who has a link is answered: the page, its data, the numbers of a tile, or a picture of it. */
import type * as z from 'zod';
import { isObject } from '../../basics/json.ts';
import { Answer, type AnyAnswer, ContentAnswer } from '../../http/answer.ts';
import type { Paging } from '../../http/page.ts';
import { FiltersOverride, joinedProperties } from '../../insights/overrides.ts';
import { PictureFailed, type PictureForm } from '../../pictures/pictures.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { dashboardOverrides } from '../answers.ts';
import { dataRange } from '../data-range.ts';
import type { TileItem } from '../model.ts';
import { choicesOf, type FilterChoice } from '../sharing/model.ts';
import { isPass, isPassword, PASS_MS, passOf } from '../sharing/password.ts';
import { RANGES, type SharedDashboard, type SharedQuery, sharedObject } from './model.ts';
import { LOOK_AGAIN, PASSWORD_NEEDED, PASSWORD_WRONG, PUBLIC_HEADERS, sharedPage } from './page.ts';
import { otherRange, shownResults, unansweredReason } from './results.ts';
import { readAddress, type SharedAddress } from './rules.ts';
import { countedTry, findShared, type SharedItem } from './store.ts';

type ViewContext = Pick<Context, 'table' | 'clock' | 'answers' | 'log' | 'pictures' | 'callerLeft'>;

/** What a request says of the page that it wants. */
interface SharedRequest {
  readonly paging: Pick<Paging, 'url'>;
  /** The token, with the ending of a form. */
  readonly params: { readonly token: string };
  readonly query: z.output<typeof SharedQuery>;
  readonly header: (name: string) => string | undefined;
  /** The address from which the request came. */
  readonly address: string;
  /** The password that was entered with the request. */
  readonly body: { readonly password: string } | undefined;
}

/** What was asked for and may be shown: each form of the page is made of it. */
interface Viewing extends Pick<SharedAddress, 'path' | 'type'> {
  readonly found: SharedItem;
  readonly query: SharedRequest['query'];
  readonly asking: Parameters<typeof shownResults>[2];
  /** Go with the answer. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns the answer. Throws a 404 when the link opens nothing, a 403 when the page has a password that was not entered,
 * and a 400 when other dates or filters are asked for than the owner allows, or a picture where there is no browser.
 */
export async function sharedAnswer(
  context: ViewContext,
  request: SharedRequest,
): Promise<AnyAnswer<z.input<typeof SharedDashboard>>> {
  const { token, type, path, form } = readAddress(request.paging.url, request.params.token);
  const { query } = request;
  const found = (await findShared(context, token)) ?? fail('not_found');
  const headers = await passHeaders(context, found, request, token);
  if (isPicture(form) && context.pictures === null) invalid(null, noPictures(form));
  const asking = await askingOf(context, found, query);
  const viewing: Viewing = { path, type, found, query, asking, headers };
  if (form === 'csv') return csvAnswer(context, viewing);
  if (form === 'json') return dataAnswer(context, viewing);
  return isPicture(form) ? pictureAnswer(context, viewing, form) : pageAnswer(context, viewing);
}

/** Returns for what the page's insights are asked: the dashboard's own filters, with what the reader chose. */
async function askingOf(
  context: ViewContext,
  found: SharedItem,
  query: SharedRequest['query'],
): Promise<Viewing['asking']> {
  const { stored, project } = found;
  const range = await rangeOf(context, found, query);
  const choice = choiceOf(found, query);
  const own = dashboardOverrides(stored);
  const chosen = { ...own.filters, ...range, ...(choice && chosenFilters(own.filters?.properties, choice)) };
  return { project, overrides: { ...own, filters: FiltersOverride.parse(chosen) }, dashboard: stored.summary.id };
}

/** Returns the numbers of one tile as a file; no other's are asked for. Throws a 400 for a tile that has none. */
async function csvAnswer(context: ViewContext, { found, query, asking, headers }: Viewing): Promise<ContentAnswer> {
  const tile = found.stored.tiles.find(({ id }) => id === query.tile);
  const insight = found.insights.get(tile?.insight ?? 0);
  const told = await shownResults(context, [insight ?? []].flat(), asking);
  const shown =
    (insight && told.results.get(insight.id)) ??
    invalid('tile', withoutNumbers(tile, insight && unansweredReason(insight, told)));
  return new ContentAnswer(await shown.csv(), 'text/csv; charset=utf-8', {
    ...PUBLIC_HEADERS,
    ...headers,
    'Content-Disposition': `attachment; filename="tile-${query.tile}.csv"`,
  });
}

/** Returns what the page shows as JSON. */
async function dataAnswer(
  context: ViewContext,
  { found, type, query, asking, headers }: Viewing,
): Promise<Answer<z.input<typeof SharedDashboard>>> {
  const { results } = await shownResults(context, [...found.insights.values()], asking);
  const fields = new Map([...results].map(([id, shown]) => [id, shown.fields()]));
  return new Answer(sharedObject(found, fields, { type, query }), { headers: { ...PUBLIC_HEADERS, ...headers } });
}

/** Returns the page, as people read it; `isPicture`: as a picture shows it. */
async function pageAnswer(context: ViewContext, viewing: Viewing, isPicture = false): Promise<ContentAnswer<string>> {
  const { path, type, found, query, asking, headers } = viewing;
  const { stored, project } = found;
  const insights = [...found.insights.values()];
  const told = await shownResults(context, insights, asking);
  const { results } = told;
  const whole = sharedObject(found, new Map(), { type, query });
  const view = {
    path,
    query,
    results,
    unanswered: new Map(insights.map((insight) => [insight.id, unansweredReason(insight, told)])),
    otherRange: await otherRange(context, project, results),
    mayChooseRange: stored.sharing.allow_date_range === true,
    choices: choicesOf(stored.sharing).map(({ name }) => name),
    timezone: project.timezone ?? 'UTC',
    markdown: await markdownOf(stored.tiles),
    isPicture,
  };
  return sharedPage(isPicture ? pictured(whole, query.tile) : whole, view, headers);
}

const isPicture = (form: string): form is PictureForm => form === 'png' || form === 'pdf';

const noPictures = (form: PictureForm): string =>
  `There is no .${form} of this page: the service has no browser to make it. On one machine, whoever runs it installs ` +
  'Chromium and sets CHROMIUM to its path; on AWS there is none. Open the page in a browser and print it: pages are ' +
  'made for paper, too.';

/** Returns what a picture shows: the whole page, or one tile of it alone. Throws a 400 for a tile that is not there. */
function pictured(shared: z.input<typeof SharedDashboard>, tile: number | undefined): z.input<typeof SharedDashboard> {
  if (tile === undefined) return shared;
  const tiles = shared.dashboard.tiles.filter(({ id }) => id === tile);
  if (tiles.length === 0) invalid('tile', 'There is no such tile on this page.');
  const alone = tiles.map((one) => ({ ...one, layouts: { sm: { x: 0, y: 0, w: 12, h: 5 } } }));
  return { ...shared, noHeader: true, dashboard: { ...shared.dashboard, tiles: alone } };
}

const MEDIA_TYPES = { png: 'image/png', pdf: 'application/pdf' } as const;

/** Returns the page as a picture. Throws a 503 when the browser cannot make it. */
async function pictureAnswer(context: ViewContext, viewing: Viewing, form: PictureForm): Promise<ContentAnswer> {
  const { pictures, callerLeft } = context;
  const { organization } = viewing.found;
  const page = await pageAnswer(context, viewing, true);
  const wanted = { html: page.content, form, owner: organization.id };
  const bytes = await pictures?.make(wanted, callerLeft).catch((error: unknown) => {
    if (!(error instanceof PictureFailed)) throw error;
    return fail('unavailable', 'The picture could not be made. Try again later.');
  });
  if (bytes === undefined) invalid(null, noPictures(form));
  const { 'Content-Security-Policy': _, ...headers } = page.headers;
  return new ContentAnswer(bytes, MEDIA_TYPES[form], {
    ...headers,
    'Content-Disposition': `inline; filename="dashboard.${form}"`,
  });
}

/** Returns what tells the markup of the texts of tiles. A function whose pages have none starts without its library. */
async function markdownOf(tiles: readonly TileItem[]): Promise<(text: string) => string> {
  const texts = tiles.flatMap(({ text }) => text ?? []);
  if (texts.length === 0) return () => '';
  const { markdownMarkups } = await import('./markdown.ts');
  const markups = await markdownMarkups(texts);
  return (text) => markups.get(text) ?? '';
}

/** Returns the headers that open the page again. Throws when it has a password, and neither that nor a pass was sent. */
async function passHeaders(
  context: ViewContext,
  { stored: { sharing }, organization }: SharedItem,
  { paging: { url }, header, address, body }: SharedRequest,
  token: string,
): Promise<Record<string, string>> {
  const hash = sharing.password ?? null;
  if (hash === null) return {};
  const now = context.clock();
  const name = `page_${token.slice(0, 10)}`;
  const passes = (header('cookie') ?? '').split(/; */).filter((pair) => pair.startsWith(`${name}=`));
  if (passes.some((pair) => isPass(pair.slice(name.length + 1), { hash, token, now }))) return {};
  if (body === undefined) fail('permission_denied', PASSWORD_NEEDED);
  const waiter = { organization: organization.id, signal: context.callerLeft };
  const isRight = await countedTry(context, token, address, () => isPassword(body.password, waiter, hash));
  if (!isRight) fail('permission_denied', PASSWORD_WRONG);
  // A frame of another site gets its cookies back only over TLS.
  const safety = url.startsWith('https:') ? 'SameSite=None; Secure; Partitioned' : 'SameSite=Lax';
  const pass = passOf(hash, token, now + PASS_MS);
  return { 'Set-Cookie': `${name}=${pass}; Path=/; Max-Age=${PASS_MS / 1000}; HttpOnly; ${safety}` };
}

/** Returns the dates that a reader chose; undefined: those of the dashboard. */
async function rangeOf(
  context: ViewContext,
  { stored: { sharing }, project }: SharedItem,
  { date_from, date_to }: SharedRequest['query'],
): Promise<{ readonly date_from: string; readonly date_to: string | null } | undefined> {
  if (date_from === undefined && date_to === undefined) return undefined;
  if (sharing.allow_date_range !== true) invalid('date_from', 'The owner of this page has not allowed other dates.');
  if (date_to === undefined && RANGES.some(([from]) => from === date_from))
    return { date_from: date_from ?? '', date_to: null };
  // Whoever has the link may choose among few ranges, so that they cannot have any number of them computed.
  const data = await dataRange(context, project);
  if (data !== undefined && data.date_from === date_from && data.date_to === date_to) return data;
  const known = RANGES.map(([from]) => from).join(', ');
  const days = data === undefined ? '' : `, or ${data.date_from} with date_to=${data.date_to}`;
  return invalid('date_from', `These dates cannot be chosen. These can: ${known}${days}.`);
}

/** Returns the filter that a reader chose; undefined: none. */
function choiceOf({ stored: { sharing } }: SharedItem, { filter }: SharedRequest['query']): FilterChoice | undefined {
  if (filter === undefined) return undefined;
  const choices = choicesOf(sharing);
  if (choices.length === 0) invalid('filter', 'The owner of this page has not allowed other filters.');
  const names = choices.map(({ name }) => name).join(', ');
  return (
    choices.find(({ name }) => name === filter) ??
    invalid('filter', `This filter cannot be chosen. These can: ${names}.`)
  );
}

/** Returns what a choice makes of a dashboard's filters: its own properties hold on, whatever readers choose. */
const chosenFilters = (own: unknown, { properties, breakdown_filter }: FilterChoice) => ({
  ...joinedProperties(own, properties),
  ...(isObject(breakdown_filter) ? { breakdown_filter } : {}),
});

/** Returns why there is no file of a tile. */
function withoutNumbers(tile: TileItem | undefined, reason: string | undefined): string {
  if (tile === undefined) return 'Name a tile of this page that has numbers: `?tile=<its number>`.';
  if (tile.insight === null) return 'This tile is a text, and has no numbers to show.';
  return `This tile has no numbers to show${reason === undefined ? ` yet. ${LOOK_AGAIN}` : `. ${reason}`}`;
}
