/** The public page of a shared dashboard. It needs no script, loads nothing, and names nobody. */
import type * as z from 'zod';
import type { TextAnswer } from '../../http/answer.ts';
import { htmlPage } from '../../http/html-page.ts';
import { html, type Markup, trusted } from '../../http/markup.ts';
import type { Failure } from '../../ports/errors.ts';
import { markdownMarkup } from './markdown.ts';
import type { SharedDashboard } from './model.ts';
import { STYLE } from './style.ts';

type Shared = z.input<typeof SharedDashboard>;
type SharedTile = Shared['dashboard']['tiles'][number];

/** A page shows so many bytes of tiles: a function answers at most 6 MB, in which a page is a JSON string. */
const MAX_TILES_BYTES = 4_000_000;

/** Links are closed at will, so no copy may be kept. */
const NO_COPY = 'no-store';
const NO_ROBOTS = { 'X-Robots-Tag': 'noindex, nofollow' };

/** The headers of a page's data. */
export const PUBLIC_HEADERS = { 'Referrer-Policy': 'no-referrer', ...NO_ROBOTS };

/** Returns the page of a dashboard; `path` is where it was asked for. */
export function sharedPage({ type, dashboard, noHeader }: Shared, path: string): TextAnswer {
  const { name, description, tags } = dashboard;
  const isFramable = type === 'embed';
  const { markups, left } = fittingTiles(dashboard.tiles);
  return htmlPage({
    cacheControl: NO_COPY,
    headers: NO_ROBOTS,
    title: name === '' ? UNTITLED : name,
    style: STYLE,
    isFramable,
    // In a frame, links open beside the site that shows it.
    head: isFramable ? html`<base target="_blank">` : undefined,
    body: html`<header${noHeader === true && html` class="unseen"`}>
<h1>${name === '' ? UNTITLED : name}</h1>
${description !== '' && html`<p>${description}</p>`}
${tags.length > 0 && html`<ul class="tags" aria-label="Tags">${tags.map((tag) => html`<li>${tag}</li>`)}</ul>`}
</header>
<main>
${markups.length === 0 && html`<p class="note">This dashboard has no tiles.</p>`}
<div class="tiles">
${markups}
</div>
${left > 0 && html`<p class="note">${left} more ${left === 1 ? 'tile does' : 'tiles do'} not fit on this page.</p>`}
</main>
<footer>
<p>Shared for reading. <a href="${path}.json">The same as data</a></p>
</footer>`,
  });
}

/** Returns the page of a failure. A link that opens nothing always shows the same page, for whatever reason. */
export function failurePage({ kind, message }: Failure): TextAnswer {
  const [title, text] =
    kind === 'not_found'
      ? ['Not found', 'This link does not open a dashboard. Whoever gave it to you may have another one.']
      : ['Something is wrong', message];
  return htmlPage({
    cacheControl: NO_COPY,
    headers: NO_ROBOTS,
    title,
    style: STYLE,
    body: html`<main class="problem">
<h1>${title}</h1>
<p>${text}</p>
</main>`,
  });
}

const UNTITLED = 'Untitled dashboard';

function fittingTiles(tiles: readonly SharedTile[]): { markups: Markup[]; left: number } {
  const markups: Markup[] = [];
  let bytes = 0;
  for (const tile of tiles) {
    const markup = tileMarkup(tile);
    bytes += Buffer.byteLength(JSON.stringify(markup.toString()));
    if (bytes > MAX_TILES_BYTES) break;
    markups.push(markup);
  }
  return { markups, left: tiles.length - markups.length };
}

/** Layouts are made for a grid of so many columns. */
const COLUMNS = 12;

function tileMarkup(tile: SharedTile): Markup {
  const { sm } = tile.layouts as { sm?: { w?: unknown } | null };
  const isWide = typeof sm?.w === 'number' && sm.w > COLUMNS / 2;
  return html`<article class="tile${isWide && ' wide'}">
${tile.insight === null ? trusted(markdownMarkup(tile.text?.body ?? '')) : insightMarkup(tile.insight)}
</article>
`;
}

function insightMarkup({ name, description, query, filters }: NonNullable<SharedTile['insight']>): Markup {
  const asked = query ?? (Object.keys(filters as object).length === 0 ? null : filters);
  return html`<h2>${name === null || name === '' ? 'Untitled insight' : name}</h2>
${description !== '' && html`<p>${description}</p>`}
${asked !== null && html`<details open><summary>Query</summary><pre><code>${JSON.stringify(asked, null, 2)}</code></pre></details>`}`;
}
