/** Pictures that are tables of themselves: rankings, funnels, retention, large numbers. */
import { html, type Markup, trusted } from '../../http/markup.ts';
import type { PictureOf } from '../chart.ts';
import { duration, fullNumber, PLAIN, SHARE, shortNumber } from '../numbers.ts';
import { round } from './scale.ts';

/** Returns a bar of a row, in a colour of the palette: from `from` to `to`, in percent of its cell. */
function bar(from: number, to: number, colour: number): Markup {
  const [x, width] = [round(Math.min(from, to)), round(Math.abs(to - from))];
  return trusted(
    `<svg width="100%" height="14" aria-hidden="true"><rect class="bar c${colour}" x="${x}%" width="${width}%" height="14"/></svg>`,
  );
}

/** Returns items by their size, with a bar for each; negative ones go to the other side. */
export function rankingMarkup({ items, format }: PictureOf<'ranking'>): Markup {
  const values = items.map(({ value }) => value ?? 0);
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  const span = most - least || 1;
  const placeOf = (value: number): number => ((value - least) / span) * 100;
  return html`<table class="ranking"><colgroup><col><col><col></colgroup><thead class="unseen"><tr><th scope="col">Name</th><td></td><th scope="col">Value</th></tr></thead><tbody>
${items.map(
  ({
    name,
    value,
  }) => html`<tr><th scope="row"><bdi>${name}</bdi></th><td>${value !== null && bar(placeOf(0), placeOf(value), 0)}</td><td class="n">${
    value === null ? '–' : fullNumber(value, format)
  }</td></tr>
`,
)}</tbody></table>`;
}

/** Returns one large number, or several, each beside that of the period before where it is known. */
export function numberMarkup({ items, format }: PictureOf<'number'>): Markup {
  return html`<div class="numbers">${items.map(
    ({ name, value, previous }) =>
      html`<p><strong>${value === null ? '–' : shortNumber(value, format)}</strong>${
        items.length > 1 && html`<span><bdi>${name}</bdi></span>`
      }${value !== null && previous !== null && html`<span>${changeText(value, previous)} against ${fullNumber(previous, format)} before</span>`}</p>`,
  )}</div>`;
}

/** Returns how a number changed: with a sign, so that no colour has to say it. */
function changeText(value: number, previous: number): string {
  if (value === previous) return 'No change';
  if (previous === 0) return value > 0 ? 'More' : 'Less';
  return `${value > previous ? '+' : ''}${fullNumber((value - previous) / Math.abs(previous), SHARE)}`;
}

/** Returns each group of a funnel as a table of its steps. */
export function funnelMarkup({ groups }: PictureOf<'funnel'>): Markup {
  return html`${groups.map(
    ({ name, steps }, at) => html`<table class="funnel">${name !== null && html`<caption><bdi>${name}</bdi></caption>`}
<thead><tr><th scope="col">Step</th><td></td><th scope="col" class="n">Persons</th><th scope="col" class="n">Of first</th><th scope="col" class="n">Of previous</th><th scope="col" class="n">Median time</th></tr></thead><tbody>
${steps.map(
  (
    step,
    index,
  ) => html`<tr><th scope="row"><b>${index + 1}</b> <bdi>${step.name}</bdi></th><td>${bar(0, step.share * 100, at % 8)}</td><td class="n">${step.count.toLocaleString('en')}</td><td class="n">${share(step.share)}</td><td class="n">${
    step.shareOfPrevious === null ? '' : share(step.shareOfPrevious)
  }</td><td class="n">${step.medianTime === null ? '' : duration(step.medianTime)}</td></tr>
`,
)}</tbody></table>`,
  )}`;
}

const share = (value: number): string => fullNumber(value, SHARE);

/** Cells of a grid have so many shades. */
export const SHADES = 10;

/** Returns cohorts and the share of each that came back, shaded by it; or what was summed of them, by its share of the first. */
export function gridMarkup({ rows, columns }: PictureOf<'grid'>): Markup {
  return html`<div class="wide" role="group" aria-label="Retention" tabindex="0"><table class="cohorts">
<thead><tr><th scope="col">Cohort</th><th scope="col" class="n">Size</th>${columns.map((column) => html`<th scope="col" class="n">${column}</th>`)}</tr></thead><tbody>
${rows.map(({ name, counts, amounts }) => {
  const size = counts[0] ?? 0;
  return html`<tr><th scope="row"><bdi>${name}</bdi></th><td class="n">${size.toLocaleString('en')}</td>${columns.map(
    (_, at) => {
      const count = counts[at] ?? null;
      if (count === null || size === 0) return html`<td></td>`;
      const amount = amounts?.[at];
      const part = amounts === undefined ? count / size : (amount ?? 0) / (amounts[0] || 1);
      const shade = Math.max(0, Math.min(SHADES, Math.round(part * SHADES)));
      const shown = typeof amount === 'number' ? shortNumber(amount, PLAIN) : share(part);
      return html`<td class="n h${shade}" title="${count.toLocaleString('en')}">${shown}</td>`;
    },
  )}</tr>
`;
})}</tbody></table></div>`;
}
