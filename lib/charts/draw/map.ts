import { html, type Markup, trusted } from '../../http/markup.ts';
import type { PictureOf } from '../chart.ts';
import { countryName } from '../describe/trends.ts';
import { fullNumber } from '../numbers.ts';
import { rankingMarkup } from './lists.ts';
/**
 * Outlines of countries by their codes in two letters, and of the two that have none by their names: Natural Earth's of
 * 1:110 million (public domain) as world-atlas 2.0.2 has them, in its projection, without Antarctica, in whole units.
 */
import outlines from './world.json' with { type: 'json' };

/** Of the outlines. */
const SIZE = { width: 1000, height: 436 };
/** Countries have so many shades. */
const LEVELS = 5;
/** So many countries are listed beside the map. */
const MAX_LISTED = 8;

/** Returns the greatest number of a shade, a whole one where the numbers are large. */
function boundOf(level: number, most: number): number {
  const bound = most * (level / LEVELS) ** 2;
  return most < LEVELS ** 2 ? bound : Math.floor(bound);
}

/** Returns the world, each country shaded by its number, and the countries with the greatest numbers. */
export function mapMarkup({ values, format }: PictureOf<'map'>, summary: string): Markup {
  const most = Math.max(...values.values(), 0);
  const levelOf = (value: number): number =>
    value <= 0 || most === 0 ? 0 : Math.max(1, Math.ceil(Math.sqrt(value / most) * LEVELS));
  const bare: string[] = [];
  const shaded = Object.entries(outlines).flatMap(([code, outline]) => {
    const value = values.get(code);
    if (value === undefined || levelOf(value) === 0) {
      bare.push(outline);
      return [];
    }
    return html`<path class="m${levelOf(value)}" d="${outline}"><title>${countryName(code)}: ${fullNumber(value, format)}</title></path>`;
  });
  const unseen = [...values.keys()].filter((code) => !Object.hasOwn(outlines, code)).length;
  const listed = [...values]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MAX_LISTED)
    .map(([code, value]) => ({ name: countryName(code), value }));
  return html`<div class="world"><svg role="img" aria-label="${summary}" viewBox="0 0 ${SIZE.width} ${SIZE.height}">${trusted(
    `<path class="m0" d="${bare.join('')}"/>`,
  )}${shaded}</svg>
${most > 0 && html`<p class="legend">${Array.from({ length: LEVELS }, (_, at) => html`<span><svg width="16" height="12" aria-hidden="true"><path class="m${at + 1}" d="M0 0h16v12H0z"/></svg>up to ${fullNumber(boundOf(at + 1, most), format)}</span>`)}</p>`}
${rankingMarkup({ type: 'ranking', items: listed, format })}
${unseen > 0 && html`<p class="note">${unseen} of ${values.size} values are of no country that is large enough to be seen on this map.</p>`}</div>`;
}
