/**
 * Lines, areas and bars. Marks are stretched to the width that the page has, their strokes are not, and texts stand
 * beside them in pixels, so that they are as legible on a phone as on a wall.
 */
import type { ScaleLinear } from 'd3-scale';
import { area, line, stack, stackOffsetDiverging } from 'd3-shape';
import { html, type Markup, trusted } from '../../http/markup.ts';
import type { Series, SeriesPicture } from '../chart.ts';
import { shortNumber } from '../numbers.ts';
import { seriesClass } from './palette.ts';
import { axisLabels, bandAt, decimalsOf, HEIGHT, namedPoints, pointAt, round, valueScale, WIDTH } from './scale.ts';

/** The lower and upper edge of each point of a series, in numbers; null: there is none. */
type Layer = readonly (readonly [low: number, high: number] | null)[];

/** A place for a text: percent of the width, pixels of the height. */
interface Place {
  readonly x: number;
  readonly y: number;
}

type Y = ScaleLinear<number, number>;

/** A key stands in a layer that is as high as this, in pixels. */
const KEY_HEIGHT = 15;
/** Two keys at the ends of lines are so far from each other, in pixels. */
const KEY_DISTANCE = 14;
/** The ends of more lines than these have no keys. */
const MAX_END_KEYS = 12;
/** The part of a band that its bars fill. */
const BAR_SHARE = 0.8;
/** The bars of one band are so wide at most, however few bands there are. */
const MAX_BARS_WIDTH = WIDTH / 6;
/** Of a digit on an axis, in pixels. */
const DIGIT_WIDTH = 7;

/** Names below a picture and what its numbers are unfolded with are so high, in pixels, and a line of a legend, which has about so many names. */
const BELOW_HEIGHT = 60;
const LEGEND_LINE = { height: 24, names: 4 };
/** A picture is not lower than that, in pixels. */
const MIN_HEIGHT = 120;

/** Returns how high a picture is for which there is so much room, in pixels: lower where else what is below it would not be seen. */
function heightIn(room: number, series: number): number {
  const legend = series <= 1 ? 0 : Math.ceil(series / LEGEND_LINE.names) * LEGEND_LINE.height;
  return Math.min(HEIGHT, Math.max(MIN_HEIGHT, Math.floor(room - BELOW_HEIGHT - legend)));
}

/** Returns the picture of numbers at points, with a legend where there is more than one series. `room` is in pixels. */
export function seriesMarkup(picture: SeriesPicture, summary: string, room: number): Markup {
  const { form, points, series, format } = picture;
  const layers = layersOf(picture);
  const height = heightIn(room, series.length);
  const isBand = form === 'stacked' || form === 'grouped';
  const { y, ticks } = valueScale(
    layers.flatMap((layer) => layer.flatMap((edges) => edges ?? [])),
    format,
    height,
  );
  const xOf = (at: number): number => (isBand ? bandAt(at, points.length) : pointAt(at, points.length));
  const marks = series.map((one, at) =>
    isBand
      ? barPaths(one, layers[at] ?? [], y, barPlace(picture, one), finishedOf(picture, one))
      : linePaths(one, layers[at] ?? [], y, xOf, {
          isFilled: form === 'areas' && !one.isPrevious,
          finished: finishedOf(picture, one),
        }),
  );
  const decimals = Math.max(format.decimals, decimalsOf(ticks));
  const tickTexts = ticks.map((tick) => shortNumber(tick, { ...format, decimals }));
  const axisWidth = Math.max(1, ...tickTexts.map((text) => text.length)) * DIGIT_WIDTH + 8;
  const hasLegend = series.length > 1;
  const inside = hasLegend && (form === 'areas' || form === 'stacked') ? keysInside(layers, y, xOf) : [];
  const atEnds =
    hasLegend && form === 'lines' && series.length <= MAX_END_KEYS ? keysAtEnds(picture, layers, y, height) : [];
  // Lines that still go on have their keys where they are told apart: at the last points that are over.
  const isGoingOn = picture.unfinished > 0 && picture.unfinished < points.length;
  const lastOver = xOf(points.length - 1 - picture.unfinished) / 10;
  const within = isGoingOn ? [...inside, ...atEnds.map((place) => place && { ...place, x: lastOver })] : inside;
  const besideEnds = isGoingOn ? [] : atEnds;
  const lines = ticks.map((tick) => `M0 ${round(y(tick))}H${WIDTH}`).join('');
  return html`<div class="plot" role="img" aria-label="${summary}">
<svg class="y-axis" width="${axisWidth}" height="${height}">${ticks.map(
    (tick, at) => html`<text x="${axisWidth - 6}" y="${round(y(tick) + 4)}">${tickTexts[at]}</text>`,
  )}</svg>
<div class="marks"><svg width="100%" height="${height}" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none">${trusted(
    `<path class="grid" d="${lines}"/>${marks.join('')}<path class="zero" d="M0 ${round(y(0))}H${WIDTH}"/>`,
  )}</svg>${within.length > 0 && html`<svg class="keys" width="100%" height="${height}">${trusted(keyTexts(within))}</svg>`}</div>
${besideEnds.length > 0 && html`<svg class="keys ends" width="22" height="${height}">${trusted(keyTexts(besideEnds))}</svg>`}
<svg class="x-axis" width="100%" height="20">${xLabels(points, xOf)}</svg>
</div>
${
  hasLegend &&
  legendMarkup(
    picture,
    [...within, ...besideEnds].some((place) => place !== null),
  )
}`;
}

function layersOf({ form, points, series }: SeriesPicture): Layer[] {
  if (form === 'lines')
    return series.map(({ values }) => values.map((value) => (value === null ? null : [value, value])));
  if (form === 'grouped') {
    return series.map(({ values }) =>
      values.map((value) => (value === null ? null : [Math.min(0, value), Math.max(0, value)])),
    );
  }
  const layers: Layer[] = Array.from(series, () => []);
  // The period before stands on its own feet.
  for (const isPrevious of [false, true]) {
    const keys = [...series.keys()].filter((key) => series[key]?.isPrevious === isPrevious);
    const stacked = stack<number, number>()
      .keys(keys)
      .value((at, key) => series[key]?.values[at] ?? 0)
      .offset(stackOffsetDiverging)([...points.keys()]);
    for (const one of stacked) layers[one.key] = one.map(([low, high]) => [low, high]);
  }
  return layers;
}

/** Returns how many points of a series were over: all of the period before. */
const finishedOf = ({ points, unfinished }: SeriesPicture, { isPrevious }: Series): number =>
  isPrevious ? points.length : points.length - unfinished;

function linePaths(
  one: Series,
  layer: Layer,
  y: Y,
  xOf: (at: number) => number,
  { isFilled, finished }: { isFilled: boolean; finished: number },
): string {
  const classes = seriesClass(one);
  const isThere = (edges: Layer[number] | undefined): boolean => edges !== null && edges !== undefined;
  const x = (_: unknown, at: number): number => xOf(at);
  const lineOf = line<Layer[number]>(x, (edges) => y(edges?.[1] ?? 0))
    .defined(isThere)
    .digits(1);
  const areaOf = area<Layer[number]>(
    x,
    (edges) => y(edges?.[0] ?? 0),
    (edges) => y(edges?.[1] ?? 0),
  )
    .defined(isThere)
    .digits(1);
  const alone = layer
    .flatMap((edges, at) => {
      const isAlone = edges !== null && !isThere(layer[at - 1]) && !isThere(layer[at + 1]);
      return isAlone ? `M${xOf(at)} ${round(y(edges[1]))}h0` : [];
    })
    .join('');
  // The part that is not over begins with the last point that is.
  const parts = [
    ...(finished > 0 ? [{ layer: layer.slice(0, finished), more: '' }] : []),
    ...(finished < layer.length
      ? [{ layer: layer.map((edges, at) => (at < finished - 1 ? null : edges)), more: ' unfinished' }]
      : []),
  ];
  const paths = parts.map((part) => {
    const [fill, upper] = [isFilled ? areaOf(part.layer) : null, lineOf(part.layer)];
    return (
      (fill === null ? '' : `<path class="area ${classes}${part.more}" d="${fill}"/>`) +
      (upper === null ? '' : `<path class="line ${classes}${part.more}" d="${upper}"/>`)
    );
  });
  return paths.join('') + (alone === '' ? '' : `<path class="dot ${classes}" d="${alone}"/>`);
}

/** Returns where in a band the bars of a series begin, and how wide they are. */
function barPlace({ form, points, series }: SeriesPicture, one: Series): { offset: number; width: number } {
  const hasPrevious = series.some(({ isPrevious }) => isPrevious);
  const [index, count] =
    form === 'grouped'
      ? [series.indexOf(one), series.length]
      : [hasPrevious && !one.isPrevious ? 1 : 0, hasPrevious ? 2 : 1];
  const width = Math.min((WIDTH / points.length) * BAR_SHARE, MAX_BARS_WIDTH) / count;
  return { offset: index * width - (width * count) / 2, width };
}

function barPaths(
  one: Series,
  layer: Layer,
  y: Y,
  { offset, width }: { offset: number; width: number },
  finished: number,
): string {
  const bars = layer.map((edges, at) => {
    if (edges === null || edges[0] === edges[1]) return '';
    const [top, bottom] = [round(y(edges[1])), round(y(edges[0]))];
    // What is not zero is seen.
    const height = Math.max(round(bottom - top), 1);
    const right = round(width);
    return `M${round(bandAt(at, layer.length) + offset)} ${edges[1] > 0 ? round(bottom - height) : top}h${right}v${height}h-${right}z`;
  });
  const pathOf = (path: string, more: string): string =>
    path === '' ? '' : `<path class="bar ${seriesClass(one)}${more}" d="${path}"/>`;
  return pathOf(bars.slice(0, finished).join(''), '') + pathOf(bars.slice(finished).join(''), ' unfinished');
}

/** Returns where the key of each layer stands: in its highest place; nowhere when that is too low. */
function keysInside(layers: readonly Layer[], y: Y, xOf: (at: number) => number): (Place | null)[] {
  return layers.map((layer) => {
    let best: Place | null = null;
    let most = KEY_HEIGHT;
    for (const [at, edges] of layer.entries()) {
      if (edges === null) continue;
      const height = y(edges[0]) - y(edges[1]);
      if (height < most) continue;
      most = height + 0.1;
      best = { x: Math.min(Math.max(xOf(at) / 10, 3), 97), y: round((y(edges[0]) + y(edges[1])) / 2 + 4) };
    }
    return best;
  });
}

/**
 * Returns where the key of each line stands: as high as its last point that is over, moved where it would cover another
 * one.
 */
function keysAtEnds(picture: SeriesPicture, layers: readonly Layer[], y: Y, height: number): (Place | null)[] {
  const places: (Place | null)[] = layers.map(() => null);
  const ends = layers
    .flatMap((layer, at) => {
      const finished = layer.slice(0, picture.points.length - picture.unfinished || undefined);
      const last = finished.findLast((edges) => edges !== null);
      return last === undefined || last === null ? [] : [{ at, y: y(last[1]) + 4 }];
    })
    .toSorted((a, b) => a.y - b.y);
  let above = -Infinity;
  for (const end of ends) above = end.y = Math.max(end.y, above + KEY_DISTANCE);
  let below = height;
  for (const end of ends.toReversed()) {
    below = end.y = Math.min(end.y, below);
    below -= KEY_DISTANCE;
    places[end.at] = { x: 60, y: round(end.y) };
  }
  return places;
}

const keyTexts = (places: readonly (Place | null)[]): string =>
  places
    .map((place, at) => (place === null ? '' : `<text x="${round(place.x)}%" y="${place.y}">${at + 1}</text>`))
    .join('');

/** The most names below a picture, where they are short and where they are long. */
const MAX_NAMES = { short: 6, long: 4 };
const SHORT_NAME = 8;

/** Names of so many characters together have room on a phone. */
const MAX_NARROW_CHARACTERS = 24;

function xLabels(points: readonly string[], xOf: (at: number) => number): Markup[] {
  const labels = axisLabels(points);
  const most = labels.every((label) => label.length <= SHORT_NAME) ? MAX_NAMES.short : MAX_NAMES.long;
  // The last point is news, and named in the place of the one before that has a name.
  const named = [...namedPoints(points.length, most).slice(0, -1), points.length - 1];
  const characters = named.reduce((sum, at) => sum + (labels[at]?.length ?? 0), 0);
  const isNarrow = named.length <= 2 || characters <= MAX_NARROW_CHARACTERS;
  return named.map((at, place) => {
    const x = xOf(at) / 10;
    const anchor = points.length === 1 ? '' : x < 5 ? 'first' : x > 95 ? 'last' : '';
    const isMinor = !isNarrow && (named.length - place) % 2 === 0;
    const classes = [anchor, isMinor && 'minor'].filter(Boolean).join(' ');
    return html`<text x="${round(x)}%" y="14"${classes !== '' && html` class="${classes}"`}>${labels[at]}</text>`;
  });
}

function legendMarkup({ form, series }: SeriesPicture, hasKeys: boolean): Markup {
  const isLine = form === 'lines';
  return html`<ol class="legend">${series.map((one, at) => {
    const classes = seriesClass(one);
    const swatch =
      isLine || one.isPrevious
        ? `<path class="line ${classes}" d="M1 6h26"/>`
        : `<path class="bar ${classes}" d="M4 1h20v10H4z"/>`;
    return html`<li><svg width="28" height="12" aria-hidden="true">${trusted(swatch)}</svg>${hasKeys && html`<b>${at + 1}</b> `}<bdi>${one.name}</bdi></li>`;
  })}</ol>`;
}
