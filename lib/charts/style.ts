/**
 * The style sheet of charts. The page around them says what `--tile` (behind them), `--text`, `--soft` and `--line` are,
 * light and dark; the colours of series and shades are here.
 */
import { SHADES } from './draw/lists.ts';
import { DARK, DASHES, LIGHT } from './draw/palette.ts';

const colours = (palette: readonly string[]): string => palette.map((colour, at) => `--c${at}: ${colour};`).join(' ');

const each = <T>(values: readonly T[], rule: (value: T, at: number) => string): string => values.map(rule).join('\n');

const shades = Array.from({ length: SHADES + 1 }, (_, at) => at);

export const CHART_STYLE = `
.chart { ${colours(LIGHT)} --shade: #0060a8; margin: 0; container-type: inline-size; font-size: .875rem; }
@media screen and (prefers-color-scheme: dark) { .chart { ${colours(DARK)} --shade: #2b7cc4; } }
.chart svg { display: block; overflow: visible; }
.chart .plot { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; padding-top: .25rem; }
.chart .y-axis { grid-area: 1 / 1; }
.chart .marks { grid-area: 1 / 2; position: relative; }
.chart .ends { grid-area: 1 / 3; }
.chart .x-axis { grid-area: 2 / 2; }
.chart text { fill: var(--soft); font-size: 12px; }
.chart .y-axis text, .chart text.last { text-anchor: end; }
.chart .x-axis text, .chart .keys text { text-anchor: middle; }
.chart .x-axis text.first { text-anchor: start; }
.chart .x-axis text.last { text-anchor: end; }
.chart .keys text { fill: var(--text); font-weight: 600; stroke: var(--tile); stroke-width: 3px; paint-order: stroke; }
.chart .marks .keys, .chart .flows .keys { position: absolute; inset: 0; }
.chart .flows { position: relative; }
.chart .flows .keys text { text-anchor: start; font-weight: 400; }
.chart .flows .keys text.last { text-anchor: end; }
.chart path { vector-effect: non-scaling-stroke; }
.chart .grid, .chart .zero { fill: none; stroke: var(--line); }
.chart .zero { stroke: var(--soft); }
.chart .line, .chart .dot { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.chart .dot { stroke-width: 7; }
.chart .area { fill: var(--c); fill-opacity: .55; }
.chart .bar { fill: var(--c); }
.chart .plot .bar, .chart .pie .bar { stroke: var(--tile); stroke-width: .75; }
${each(LIGHT, (_, at) => `.chart .c${at} { --c: var(--c${at}); }`)}
${each(DASHES, (dash, at) => (at === 0 ? '' : `.chart .line.d${at} { stroke-dasharray: ${dash}; } .chart .bar.d${at} { fill-opacity: ${1 - at * 0.25}; }`))}
.chart .previous { opacity: .5; }
.chart .line.previous { stroke-dasharray: 3 4; }
.chart .line.unfinished { stroke-dasharray: .1 5; }
.chart .area.unfinished { fill-opacity: .25; }
.chart .plot .bar.unfinished { fill-opacity: .35; stroke: var(--c); stroke-width: 1; stroke-dasharray: 3 2; }
.chart .legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .5rem 0 0; padding: 0; list-style: none; }
.chart .legend li, .chart .legend span { display: flex; align-items: center; gap: .35rem; max-width: 100%; }
.chart .legend bdi { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chart table { border-collapse: collapse; margin: 0; }
.chart th, .chart td { padding: .2rem .5rem; border: 0; border-bottom: 1px solid var(--line); text-align: start; vertical-align: middle; }
.chart tbody th { font-weight: 400; }
.chart .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.chart .ranking, .chart .funnel { width: 100%; }
.chart .ranking col:first-child { width: 38%; }
.chart .ranking col:nth-child(2) { width: 62%; }
.chart .funnel { overflow-wrap: normal; }
.chart .funnel thead th.n { white-space: normal; vertical-align: bottom; }
.chart .funnel td, .chart .ranking td { min-width: 0; }
.chart .funnel td:nth-child(2) { width: 25%; }
.chart .funnel tbody th { min-width: 6rem; overflow-wrap: anywhere; }
.chart .ranking tbody th { min-width: 6rem; }
.chart .ranking bdi { display: -webkit-inline-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; max-width: 100%; overflow: hidden; overflow-wrap: anywhere; vertical-align: middle; }
.chart .funnel caption { padding: .5rem 0 .25rem; text-align: start; font-weight: 600; }
.chart thead.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.chart .numbers { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.chart .numbers p { display: flex; flex-direction: column; margin: 0; }
.chart .numbers strong { font-size: 2.75rem; line-height: normal; font-weight: 600; font-variant-numeric: tabular-nums; }
.chart .numbers span, .chart figcaption, .chart .none, .chart .note, .chart .missing { color: var(--soft); }
.chart figcaption, .chart details, .chart .note { margin: .5rem 0 0; }
.chart .none { margin: 0; padding: 2rem 0; text-align: center; }
.chart .wide { max-height: 22rem; overflow: auto; }
.chart .wide th { white-space: nowrap; font-weight: 600; }
.chart .wide td { max-width: 20rem; min-width: 5rem; overflow-wrap: break-word; }
.chart .wide td.n { min-width: 0; }
.chart .cohorts tbody th { font-weight: 400; }
${each(shades, (at) => `.chart .h${at} { background: color-mix(in srgb, var(--shade) ${at * 5}%, var(--tile)); }`)}
.chart .pie { display: flex; flex-wrap: wrap; align-items: center; gap: 1rem; }
.chart .pie > svg { flex: none; align-self: start; margin: 2px; }
.chart .pie table { flex: 1 1 12rem; }
.chart .pie th svg { display: inline-block; margin-inline-end: .25rem; }
.chart .world path { stroke: var(--tile); stroke-width: .5; }
.chart .world .m0 { fill: var(--line); }
${each([1, 2, 3, 4, 5], (at) => `.chart .m${at} { fill: color-mix(in srgb, var(--shade) ${at * 20}%, var(--tile)); }`)}
.chart .flow { fill: none; stroke: var(--soft); stroke-opacity: .3; vector-effect: none; }
@container (max-width: 32rem) { .chart .minor { display: none; } }
@container (max-width: 30rem) {
  .chart .flows { display: none; }
  .chart .funnel td:nth-child(2), .chart .funnel thead th:nth-child(2), .chart .funnel td:nth-child(6), .chart .funnel thead th:nth-child(6) { display: none; }
  .chart th, .chart td { padding-inline: .3rem; }
}
@media print { .chart .wide { max-height: none; overflow: visible; font-size: .7rem; } .chart details:not([open]) { display: none; }
  .chart .wide th, .chart .wide td { min-width: 0; max-width: none; padding: .1rem .25rem; white-space: normal; }
  .chart .wide td { overflow-wrap: anywhere; } .chart .wide .n { white-space: nowrap; }
  .chart [class*=h] { print-color-adjust: exact; } }
`;
