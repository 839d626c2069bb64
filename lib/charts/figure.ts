/** Charts as markup: the picture, and its numbers as a table. It needs no script, and no styles but `CHART_STYLE`. */
import { html, type Markup } from '../http/markup.ts';
import type { Chart, Picture, PictureOf } from './chart.ts';
import { flowMarkup } from './draw/flow.ts';
import { funnelMarkup, gridMarkup, numberMarkup, rankingMarkup } from './draw/lists.ts';
import { mapMarkup } from './draw/map.ts';
import { pieMarkup } from './draw/pie.ts';
import { seriesMarkup } from './draw/series.ts';
import { tableMarkup } from './draw/table.ts';

/** Pictures that cannot be read, so that their numbers stand beside them; the others are made of texts. */
const IMAGES: ReadonlySet<string> = new Set(['series', 'map', 'flow']);

/**
 * Returns a chart as a figure. Names in it are escaped, whatever they hold. `room` is how many pixels it may be high so that
 * all is seen while its numbers are folded: pictures of series are lower for what is below them, down to what can be read.
 */
export function figure(chart: Chart, room = Number.POSITIVE_INFINITY): Markup {
  const { picture, table, summary, note } = chart;
  const hasNumbers = IMAGES.has(picture.type) || (picture.type !== 'table' && note !== null);
  return html`<figure class="chart">
${pictureMarkup(chart, room)}
${note !== null && html`<figcaption>${note}</figcaption>`}
${hasNumbers && html`<details${picture.type === 'flow' && html` open`}><summary>Numbers</summary>${tableMarkup(table, summary)}</details>`}
</figure>`;
}

/** How each type of picture is drawn. */
const DRAWINGS: {
  readonly [T in Picture['type']]: (picture: PictureOf<T>, chart: Chart, room: number) => Markup;
} = {
  series: (picture, { summary }, room) => seriesMarkup(picture, summary, room),
  ranking: rankingMarkup,
  pie: (picture, { summary }) => pieMarkup(picture, summary),
  number: numberMarkup,
  map: (picture, { summary }) => mapMarkup(picture, summary),
  funnel: funnelMarkup,
  grid: gridMarkup,
  flow: ({ links }, { summary }) => flowMarkup(links, summary),
  table: (_, { table, summary }) => tableMarkup(table, summary),
  none: ({ reason }) => html`<p class="none">${reason}</p>`,
};

function pictureMarkup(chart: Chart, room: number): Markup {
  const draw = DRAWINGS[chart.picture.type] as (picture: Picture, chart: Chart, room: number) => Markup;
  return draw(chart.picture, chart, room);
}
