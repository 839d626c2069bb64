/** The public page of a shared dashboard. It needs no script, loads nothing, and names nobody. */
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type * as z from 'zod';
import { getOrMake } from '../../basics/maps.ts';
import { placesOf } from '../../charts/places.ts';
import { CHART_STYLE } from '../../charts/style.ts';
import type { ContentAnswer } from '../../http/answer.ts';
import { headerOf } from '../../http/header.ts';
import { htmlPage } from '../../http/html-page.ts';
import { wireInstant } from '../../http/instant.ts';
import { html, type Markup, trusted } from '../../http/markup.ts';
import { givenName } from '../../insights/model.ts';
import type { Failure, FailureKind } from '../../ports/errors.ts';
import type { DataRange } from '../data-range.ts';
import { dashboardName } from '../model.ts';
import { layoutStyle } from './layout.ts';
import { RANGES, type SharedDashboard, type SharedQuery } from './model.ts';
import type { ShownResult } from './results.ts';
import { isDataAddress } from './rules.ts';
import { PICTURE_STYLE, STYLE } from './style.ts';

type Shared = z.input<typeof SharedDashboard>;
type SharedTile = Shared['dashboard']['tiles'][number];
type Query = z.output<typeof SharedQuery>;

/** What a page shows beside the dashboard. */
interface PageView {
  /** Where the page was asked for. */
  readonly path: string;
  readonly query: Query;
  /** By the numbers of insights. */
  readonly results: ReadonlyMap<number, ShownResult>;
  /** Why insights have no numbers, and never will, by their numbers; undefined: they may have some. */
  readonly unanswered: ReadonlyMap<number, string | undefined>;
  /** The days that have events, where those that were asked for have none. */
  readonly otherRange: DataRange | undefined;
  readonly mayChooseRange: boolean;
  /** The names of the filters that readers may choose. */
  readonly choices: readonly string[];
  readonly timezone: string;
  /** Returns Markdown as safe markup. */
  readonly markdown: (text: string) => string;
  /** It becomes a picture, in which nothing is chosen or followed. */
  readonly isPicture: boolean;
}

/** A page shows so many bytes of tiles: a function answers at most 6 MB, in which a page is a JSON string. */
const MAX_TILES_BYTES = 4_000_000;
/** A character is so many bytes of a JSON string at most. */
const MAX_CHARACTER_BYTES = 6;

const NO_ROBOTS = { 'X-Robots-Tag': 'noindex, nofollow' };

/** The headers of a page's data. */
export const PUBLIC_HEADERS = { 'Referrer-Policy': 'no-referrer', ...NO_ROBOTS };

/** Returns the page of a dashboard; `headers` go with it. */
export function sharedPage(
  { type, dashboard, noHeader }: Shared,
  view: PageView,
  headers: Readonly<Record<string, string>>,
): ContentAnswer<string> {
  const { description, tags, tiles } = dashboard;
  const name = dashboardName(dashboard);
  const isFramable = type === 'embed';
  const { markups, left } = fittingTiles(tiles, view);
  const places = placesOf(tiles.slice(0, markups.length).map(({ layouts }) => layouts));
  return htmlPage({
    headers: { ...NO_ROBOTS, ...headers },
    title: name,
    style: `${STYLE}${CHART_STYLE}${layoutStyle(places)}${view.isPicture ? PICTURE_STYLE : ''}`,
    isFramable,
    // In a frame, links open beside the site that shows it.
    head: isFramable ? html`<base target="_blank">` : undefined,
    body: html`<header${noHeader === true && html` class="unseen"`}>
<h1>${name}</h1>
${description !== '' && html`<p>${description}</p>`}
${tags.length > 0 && html`<ul class="tags" aria-label="Tags">${tags.map((tag) => html`<li>${tag}</li>`)}</ul>`}
</header>
<main>
${view.mayChooseRange && !view.isPicture && rangesMarkup(view)}
${view.choices.length > 0 && !view.isPicture && choicesMarkup(view)}
${otherRangeMarkup(view)}
${markups.length === 0 && html`<p class="note">This dashboard has no tiles.</p>`}
<div class="tiles">
${markups}
</div>
${left > 0 && html`<p class="note">${left} more ${left === 1 ? 'tile does' : 'tiles do'} not fit on this page.</p>`}
</main>
<footer>
<p>${refreshedMarkup(view)} Shared for reading.${!view.isPicture && html` <a href="${addressOf(view, '.json')}">The same as data</a>`}</p>
</footer>`,
  });
}

/** Returns the address of a page, or of a form of it, with what the reader chose. */
function addressOf(
  { path, query }: PageView,
  ending: string,
  changes: Readonly<Record<string, string | undefined>> = {},
) {
  const { tile: _, ...chosen } = query;
  const entries = Object.entries({ ...chosen, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const text = new URLSearchParams(entries).toString();
  return `${path}${ending}${text === '' ? '' : `?${text}`}`;
}

function rangesMarkup(view: PageView): Markup {
  const { query } = view;
  const links = [[undefined, 'As the dashboard has it'] as const, ...RANGES].map(([date_from, label]) => ({
    label,
    address: addressOf(view, '', { date_from, date_to: undefined }),
    isChosen: query.date_from === date_from && query.date_to === undefined,
  }));
  return linksMarkup('Dates', links);
}

function choicesMarkup(view: PageView): Markup {
  const links = [undefined, ...view.choices].map((filter) => ({
    label: filter ?? 'Everything',
    address: addressOf(view, '', { filter }),
    isChosen: view.query.filter === filter,
  }));
  return linksMarkup('Filters', links);
}

const linksMarkup = (
  name: string,
  links: readonly { readonly label: string; readonly address: string; readonly isChosen: boolean }[],
): Markup =>
  html`<nav aria-label="${name}"><ul class="choices">${links.map(
    ({ label, address, isChosen }) =>
      html`<li><a href="${address}"${isChosen && html` aria-current="true"`}>${label}</a></li>`,
  )}</ul></nav>`;

/** Returns what a page says where there is nothing in its range: which days have something. */
function otherRangeMarkup(view: PageView): Markup | false {
  const { otherRange, mayChooseRange, query } = view;
  if (otherRange === undefined) return false;
  const { date_from, date_to } = otherRange;
  const days = date_from === date_to ? dayText(date_from) : `${dayText(date_from)} to ${dayText(date_to)}`;
  const isShown = query.date_from === date_from && query.date_to === date_to;
  return html`<p class="notice">Nothing happened in these dates. There are events of ${
    mayChooseRange && !isShown && !view.isPicture
      ? html`<a href="${addressOf(view, '', { date_from, date_to })}">${days}</a>`
      : days
  }.</p>`;
}

const dayText = (day: string): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`));

/** Returns when the oldest of the results was computed. */
function refreshedMarkup({ results, timezone }: PageView): Markup | false {
  if (results.size === 0) return false;
  const oldest = Math.min(...[...results.values()].map(({ refreshedAt }) => refreshedAt));
  return html`Last refreshed <time datetime="${wireInstant(oldest)}">${minuteText(oldest, timezone)} (${timezone})</time>.`;
}

/** By their zones: to make one costs more than to draw the rest of a page. */
const minuteFormats = new Map<string, Intl.DateTimeFormat>();

/** Returns an instant as the clock of a zone shows it, to the minute: `1 Jan 2026, 09:30`. */
function minuteText(instant: number, timeZone: string): string {
  const format = { dateStyle: 'medium', timeStyle: 'short', timeZone } as const;
  return getOrMake(minuteFormats, timeZone, () => new Intl.DateTimeFormat('en-GB', format)).format(instant);
}

const NOT_FROM_PAGES: ReadonlySet<FailureKind> = new Set([
  'validation',
  'parse_error',
  'request_too_large',
  'unsupported_media_type',
]);

/** Links to what could be chosen once are kept. */
const isOfChoice = ({ body: { attr } }: Failure): boolean => attr === 'date_from' || attr === 'filter';

/** The words of failures that ask for a password. */
export const PASSWORD_NEEDED = 'This page needs a password.';
export const PASSWORD_WRONG = 'That is not the password of this page.';

/**
 * Returns the page of a failure of a request; undefined: it is told as data, for something else than a page was asked for,
 * or what was sent is not what a page or its form sends, or a browser of a link that somebody has kept.
 */
export function failurePageAt(
  failure: Failure,
  { path, headers }: Pick<APIGatewayProxyEvent, 'path' | 'headers'>,
): ContentAnswer<string> | undefined {
  const isKeptLink = isOfChoice(failure) && headerOf(headers, 'accept')?.includes('text/html') === true;
  return isDataAddress(path) || (NOT_FROM_PAGES.has(failure.kind) && !isKeptLink)
    ? undefined
    : failurePage(failure, path.split('/').at(-2) === 'embedded');
}

/** Returns the page of a failure. A link that opens nothing always shows the same page, for whatever reason. */
function failurePage(failure: Failure, isFramable: boolean): ContentAnswer<string> {
  const { kind, message, body } = failure;
  if (body.detail === PASSWORD_NEEDED || body.detail === PASSWORD_WRONG) return passwordPage(body.detail, isFramable);
  const [title, text] =
    kind === 'not_found'
      ? ['Not found', 'This link does not open a dashboard. Whoever gave it to you may have another one.']
      : isOfChoice(failure)
        ? [
            'Not here',
            html`These dates or this filter cannot be chosen here. <a href="?">Open the page without them</a>`,
          ]
        : ['Something is wrong', message];
  return htmlPage({
    headers: NO_ROBOTS,
    title,
    style: STYLE,
    body: html`<main class="problem">
<h1>${title}</h1>
<p>${text}</p>
</main>`,
  });
}

function passwordPage(detail: string, isFramable: boolean): ContentAnswer<string> {
  const isWrong = detail === PASSWORD_WRONG;
  return htmlPage({
    headers: NO_ROBOTS,
    title: 'Password',
    style: STYLE,
    hasForm: true,
    isFramable,
    body: html`<main class="problem">
<h1>Password</h1>
<form method="post">
<p id="about">${isWrong ? PASSWORD_WRONG : 'Whoever gave you this link knows the password of the page.'}</p>
<p><label>Password <input type="password" name="password" required autofocus autocomplete="current-password" aria-describedby="about"${isWrong && html` aria-invalid="true"`}></label></p>
<p><button>Open the page</button></p>
</form>
</main>`,
  });
}

/** Returns the tiles that fit on a page, from the first on, and how many are left. */
function fittingTiles(tiles: readonly SharedTile[], view: PageView): { markups: Markup[]; left: number } {
  const markups = tiles.map((tile, at) => tileMarkup(tile, at, view));
  const characters = markups.reduce((sum, markup) => sum + markup.toString().length, 0);
  if (characters * MAX_CHARACTER_BYTES <= MAX_TILES_BYTES) return { markups, left: 0 };
  let bytes = 0;
  const end = markups.findIndex((markup) => {
    bytes += Buffer.byteLength(JSON.stringify(markup.toString()));
    return bytes > MAX_TILES_BYTES;
  });
  return end < 0 ? { markups, left: 0 } : { markups: markups.slice(0, end), left: markups.length - end };
}

function tileMarkup(tile: SharedTile, at: number, view: PageView): Markup {
  return html`<article class="tile t${at}">
${tile.insight === null ? trusted(view.markdown(tile.text?.body ?? '')) : insightMarkup(tile, tile.insight, view)}
</article>
`;
}

function insightMarkup(
  { id: tile, show_description }: SharedTile,
  insight: NonNullable<SharedTile['insight']>,
  view: PageView,
): Markup {
  const { id, description } = insight;
  const name = givenName(insight);
  const shown = view.results.get(id);
  return html`<h2>${name ?? 'Untitled insight'}</h2>
${description && show_description !== false && html`<p class="about">${description}</p>`}
${shown === undefined ? html`<p class="note">${view.unanswered.get(id) ?? `There are no numbers yet. ${LOOK_AGAIN}`}</p>` : trusted(shown.drawn.figure)}
${shown !== undefined && shown.drawn.hasRows && !view.isPicture && html`<p class="download"><a href="${addressOf(view, '.csv', { tile: String(tile) })}" download aria-label="CSV of ${name ?? 'this insight'}">CSV</a></p>`}`;
}

/** What is said of numbers that are not there. Why an answer failed is for those who may see what was asked. */
export const LOOK_AGAIN = 'Look again in a moment. If they do not come, whoever shared this page can see why.';
