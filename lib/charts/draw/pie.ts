import { arc, pie } from 'd3-shape';
import { html, type Markup, trusted } from '../../http/markup.ts';
import type { PictureOf } from '../chart.ts';
import { fullNumber, SHARE } from '../numbers.ts';
import { seriesClass } from './palette.ts';
import { round } from './scale.ts';

const RADIUS = 100;
/** A slice of less than this part has no key inside it. */
const MIN_KEYED_PART = 0.04;

/** Returns a pie, with a key in each slice that is large enough, and beside it what each slice is. */
export function pieMarkup({ items, format }: PictureOf<'pie'>, summary: string): Markup {
  const total = items.reduce((sum, { value }) => sum + (value ?? 0), 0);
  const slices = pie<(typeof items)[number]>()
    .value(({ value }) => value ?? 0)
    .sortValues(null)([...items]);
  const edge = arc<(typeof slices)[number]>().innerRadius(0).outerRadius(RADIUS).digits(1);
  const label = arc<(typeof slices)[number]>()
    .innerRadius(RADIUS * 0.66)
    .outerRadius(RADIUS * 0.66);
  const paths = slices.map((slice, at) => {
    const [x, y] = label.centroid(slice);
    const key =
      (slice.data.value ?? 0) / total < MIN_KEYED_PART
        ? ''
        : `<text x="${round(x)}" y="${round(y + 5)}">${at + 1}</text>`;
    return [`<path class="bar ${sliceClass(at)}" d="${edge(slice) ?? ''}"/>`, key] as const;
  });
  return html`<div class="pie"><svg role="img" aria-label="${summary}" width="200" height="200" viewBox="-101 -101 202 202">${trusted(
    paths.map(([path]) => path).join(''),
  )}<g class="keys">${trusted(paths.map(([, key]) => key).join(''))}</g></svg>
<table><thead class="unseen"><tr><th scope="col">Name</th><th scope="col">Value</th><th scope="col">Share</th></tr></thead><tbody>
${items.map(
  ({ name, value }, at) => html`<tr><th scope="row"><svg width="14" height="12" aria-hidden="true">${trusted(
    `<path class="bar ${sliceClass(at)}" d="M1 1h12v10H1z"/>`,
  )}</svg><b>${at + 1}</b> <bdi>${name}</bdi></th><td class="n">${value === null ? '–' : fullNumber(value, format)}</td><td class="n">${fullNumber((value ?? 0) / total, SHARE)}</td></tr>
`,
)}</tbody></table></div>`;
}

const sliceClass = (at: number): string => seriesClass({ colour: at, isPrevious: false });
