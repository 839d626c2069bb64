import { sankey, sankeyLinkHorizontal } from 'd3-sankey';
import { html, type Markup, trusted } from '../../http/markup.ts';
import type { Link } from '../chart.ts';
import { placeName, placeStep } from '../describe/paths.ts';
import { seriesClass } from './palette.ts';
import { cutName, round, WIDTH } from './scale.ts';

const NODE_WIDTH = 8;
const NODE_PADDING = 16;
/** The height of a place, at least, in pixels. */
const PLACE_HEIGHT = 34;
const MAX_HEIGHT = 480;
/** A place shows so many letters of its name. */
const MAX_NAME = 20;

interface Place {
  readonly id: string;
}

/**
 * Returns flows from step to step, the steps side by side. It is for wide pages only; on a narrow one the table of the
 * numbers takes its place. Links that lead back, which results of paths do not have, are left out.
 */
export function flowMarkup(links: readonly Link[], summary: string): Markup {
  const ahead = links.filter(({ source, target }) => placeStep(target) > placeStep(source));
  if (ahead.length === 0) return html``;
  const ids = [...new Set(ahead.flatMap(({ source, target }) => [source, target]))];
  // A step that no place has takes no column: a column without places is more than the layout bears.
  const steps = [...new Set(ids.map(placeStep))].toSorted((a, b) => a - b);
  const perStep = Math.max(...Object.values(Object.groupBy(ids, placeStep)).map((places) => places?.length ?? 0));
  const height = Math.min(MAX_HEIGHT, Math.max(120, perStep * PLACE_HEIGHT));
  const { nodes, links: flows } = sankey<Place, object>()
    .nodeId(({ id }) => id)
    .nodeWidth(NODE_WIDTH)
    .nodePadding(Math.min(NODE_PADDING, height / perStep / 2))
    .nodeAlign(({ id }) => steps.indexOf(placeStep(id)))
    .extent([
      [0, 4],
      [WIDTH, height - 4],
    ])({ nodes: ids.map((id) => ({ id })), links: ahead.map((link) => ({ ...link })) });
  const path = sankeyLinkHorizontal<Place, object>();
  const bands = flows.map(
    (flow) =>
      `<path class="flow" d="${(path(flow) ?? '').replace(/\d+\.\d+/g, (digits) => String(round(Number(digits))))}" stroke-width="${round(Math.max(1, flow.width ?? 1))}"/>`,
  );
  const places = nodes.map(
    ({ id, x0 = 0, y0 = 0, y1 = 0 }) =>
      `<path class="bar ${seriesClass({ colour: steps.indexOf(placeStep(id)), isPrevious: false })}" d="M${round(x0)} ${round(y0)}h${NODE_WIDTH}v${round(Math.max(1, y1 - y0))}h-${NODE_WIDTH}z"/>`,
  );
  return html`<div class="flows" role="img" aria-label="${summary}"><svg width="100%" height="${height}" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none">${trusted(
    bands.join('') + places.join(''),
  )}</svg><svg class="keys" width="100%" height="${height}">${nodes.map(({ id, x0 = 0, y0 = 0, y1 = 0 }) => {
    const isLast = x0 > WIDTH * 0.9;
    const at = round(((isLast ? x0 : x0 + NODE_WIDTH) / WIDTH) * 100 + (isLast ? -0.6 : 0.6));
    return html`<text x="${at}%" y="${round((y0 + y1) / 2 + 4)}"${isLast && html` class="last"`}>${cutName(placeName(id), MAX_NAME)}</text>`;
  })}</svg></div>`;
}
