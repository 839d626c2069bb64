/** The numbers of a chart as a table. */
import { html, type Markup } from '../../http/markup.ts';
import { cellsShown, type ShownCell } from '../cells.ts';
import type { Cell, NumberTable } from '../chart.ts';

/** A table on a page has so many cells at most. */
const MAX_CELLS = 3000;

function cellMarkup(cell: Cell, { text, exact, isMissing }: ShownCell, isAmongNumbers: boolean): Markup {
  if (isMissing) return html`<td class="${isAmongNumbers ? 'n missing' : 'missing'}">${text}</td>`;
  if (typeof cell === 'number') return html`<td class="n"${exact !== null && html` title="${exact}"`}>${text}</td>`;
  return html`<td><bdi>${text}</bdi></td>`;
}

/** Returns a table of numbers that can be moved sideways where it is wide, and says how many rows it leaves out. */
export function tableMarkup(table: NumberTable, caption: string): Markup {
  const { columns, rows } = table;
  const most = Math.max(1, Math.floor(MAX_CELLS / Math.max(columns.length, 1)));
  const left = rows.length - most;
  const shown = cellsShown(table);
  const areNumbers = columns.map((_, at) => rows.some(({ [at]: cell }) => typeof cell === 'number'));
  return html`<div class="wide" role="group" aria-label="${caption}" tabindex="0"><table>
<thead><tr>${columns.map((column) => html`<th scope="col"><bdi>${column}</bdi></th>`)}</tr></thead>
<tbody>
${rows.slice(0, most).map(
  (row) => html`<tr>${row.map((cell, at) => cellMarkup(cell, shown(cell, at), areNumbers[at] === true))}</tr>
`,
)}</tbody></table></div>${left > 0 && html`<p class="note">${left.toLocaleString('en')} more rows are not shown here.</p>`}`;
}
