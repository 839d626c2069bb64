/** A message in the form of Slack's incoming webhooks, which others (Mattermost, Rocket.Chat) read too. */
import type { NumberTable } from '../../charts/chart.ts';
import type { Message, ShownInsight } from './message.ts';

/** Slack's limits, in characters of a section; a message has 50 blocks at most. */
const SECTION_LENGTH = 3000;
const BLOCKS = 50;

/** Returns a text as Slack shows it: nothing in it is a link or calls people. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Returns a link of the service's own. */
const linked = (name: string, link: string | null): string =>
  // A bar ends the address, and backticks, stars and such are the name's own to be shown with.
  link === null ? escaped(name) : `<${link}|${escaped(name).replaceAll('|', '\u00a6')}>`;

/** Returns a table as lines of equal columns. */
export function tableText({ columns, rows }: NumberTable): string {
  const lines = [columns, ...rows.map((row) => row.map((cell) => (cell === null ? '' : String(cell))))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)));
  const isNumber = columns.map((_, at) => rows.every((row) => row[at] === null || typeof row[at] === 'number'));
  return lines
    .map((line) =>
      line
        .map((cell, at) => (isNumber[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });

function insightSection({ name, link, summary, table, moreRows }: ShownInsight) {
  const head = `*${linked(name, link)}*\n${escaped(summary)}`.slice(0, SECTION_LENGTH / 2);
  if (table.rows.length === 0) return section(head);
  const more = moreRows === 0 ? '' : `\n${moreRows} more`;
  const left = SECTION_LENGTH - head.length - more.length - '\n``````'.length;
  // Three backticks in a name would end the block.
  const text = wholeLines(escaped(tableText(table).replaceAll('`', "'")), left);
  return section(`${head}\n\`\`\`${text}\`\`\`${more}`);
}

/** Returns as many of the first lines as fit. */
function wholeLines(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length).lastIndexOf('\n');
  return text.slice(0, Math.max(0, cut));
}

/** Returns the body of the request. */
export function slackBody({ title, lines, link, insights }: Message) {
  const head = section([`*${linked(title, link)}*`, ...lines.map(escaped)].join('\n').slice(0, SECTION_LENGTH));
  return {
    text: escaped([title, ...lines].join('\n')).slice(0, SECTION_LENGTH),
    blocks: [head, ...insights.map(insightSection)].slice(0, BLOCKS),
  };
}
