/** A message as a mail: texts, tables and links; and pictures, where there are some, for mail programs show no SVG. */

import { beginningOf } from '../../basics/text.ts';
import { cellsShown, type ShownCell } from '../../charts/cells.ts';
import type { Cell } from '../../charts/chart.ts';
import { html, type Markup } from '../../http/markup.ts';
import type { Letter } from '../../ports/mail/mail.ts';
import { PICTURE_WIDTH } from './chart-pictures.ts';
import { leftOutText, type Message, type ShownInsight } from './message.ts';
import { tableText } from './slack.ts';

/** What is said where somebody would be sent mail. */
export const NO_MAIL = 'This service sends no mail: whoever runs the service has set no mail server.';

const MAX_SUBJECT_LENGTH = 200;

/** Returns the mail of a message to an address; `pictures` are those of its insights, by their places. */
export function letterOf(id: string, message: Message, to: string, pictures: ReadonlyMap<number, Buffer>): Letter {
  return {
    id,
    to,
    subject: beginningOf(message.title.replaceAll(/\s+/g, ' '), MAX_SUBJECT_LENGTH),
    text: textOf(message),
    html: markupOf(message, pictures).toString(),
    pictures: [...pictures].map(([at, bytes]) => ({ name: pictureName(at), bytes })),
  };
}

const pictureName = (at: number): string => `chart-${at + 1}.png`;

const END = { alert: 'An alert sends this.', subscription: 'A subscription sends this.' } as const;
const STOP = 'Whoever made it, or an admin of the organization, can stop it.';

function textOf({ title, lines, link, insights, by }: Message): string {
  const parts = insights.map((insight) => {
    const { name, summary, table, link: to } = insight;
    const leftOut = leftOutText(insight);
    return [
      name,
      summary,
      ...(table.rows.length === 0 ? [] : [tableText(table)]),
      ...(leftOut === '' ? [] : [leftOut]),
      ...(to === null ? [] : [to]),
    ].join('\n');
  });
  const head = [title, ...lines, ...(link === null ? [] : [link])].join('\n');
  return `${[head, ...parts, `${END[by.kind]} ${STOP}`].join('\n\n')}\n`;
}

const CELL = 'padding: 2px 12px 2px 0; text-align: left;';
const NUMBER = 'padding: 2px 12px 2px 0; text-align: right;';
const MISSING = ' color: #666;';

const linked = (name: string, link: string | null): Markup =>
  link === null ? html`${name}` : html`<a href="${link}">${name}</a>`;

function markupOf({ title, lines, link, insights, by }: Message, pictures: ReadonlyMap<number, Buffer>): Markup {
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body style="font-family: sans-serif; line-height: 1.4;">
<h1 style="font-size: 18px;">${linked(title, link)}</h1>
${lines.map((line) => html`<p>${line}</p>\n`)}${insights.map((insight, at) => insightMarkup(insight, pictures.has(at) ? pictureName(at) : null))}<p style="color: #666;">${END[by.kind]} ${STOP}</p>
</body>
</html>
`;
}

const cellMarkup = (value: Cell, { text, isMissing }: ShownCell): Markup =>
  html`<td style="${typeof value === 'number' ? NUMBER : CELL}${isMissing && MISSING}">${text}</td>`;

function insightMarkup(insight: ShownInsight, picture: string | null): Markup {
  const { name, link, summary, table } = insight;
  const leftOut = leftOutText(insight);
  const shown = cellsShown(table);
  return html`<h2 style="font-size: 16px;">${linked(name, link)}</h2>
<p>${summary}</p>
${picture !== null && html`<p><img src="cid:${picture}" alt="${summary}" width="${PICTURE_WIDTH}" style="max-width: 100%;"></p>\n`}${
  table.rows.length > 0 &&
  html`<table style="border-collapse: collapse;">
<tr>${table.columns.map((column) => html`<th style="${CELL}">${column}</th>`)}</tr>
${table.rows.map((row) => html`<tr>${row.map((cell, at) => cellMarkup(cell, shown(cell, at)))}</tr>\n`)}</table>
`
}${leftOut !== '' && html`<p>${leftOut}</p>\n`}`;
}
