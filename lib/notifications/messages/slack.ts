/** A message in the form of Slack's incoming webhooks, which others (Mattermost, Rocket.Chat) read too. */
import { cellsShown } from '../../charts/cells.ts';
import type { NumberTable } from '../../charts/chart.ts';
import { leftOutText, type Message, type ShownInsight } from './message.ts';

/** Slack's limits, in characters of a section; a message has 50 blocks at most. */
const SECTION_LENGTH = 3000;
const BLOCKS = 50;

/** Returns a text as Slack shows it: nothing in it is a link or calls people. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * Returns a text of which nothing calls people where no `verbatim` keeps it from that: the first line in Slack's
 * notifications, and all of the message in Mattermost and Rocket.Chat, which know no blocks. A word joiner is not seen.
 */
const unmentioned = (text: string): string => text.replaceAll('@', '@\u2060');

/** Returns as many of a text's first characters as fit, as Slack shows them: none is cut in two. */
function escapedWithin(text: string, length: number): string {
  const whole = escaped(text);
  if (whole.length <= length) return whole;
  let shown = '';
  for (const character of text) {
    const next = escaped(character);
    if (shown.length + next.length > length) break;
    shown += next;
  }
  return shown;
}

/** Returns a link of the service's own, whose name is cut to fit into the length. */
function linkedWithin(name: string, link: string | null, length: number): string {
  if (link === null) return escapedWithin(name, length);
  // A bar ends the address, and backticks, stars and such are the name's own to be shown with.
  return `<${link}|${escapedWithin(name.replaceAll('|', '\u00a6'), length - link.length - '<|>'.length)}>`;
}

/** Returns a name in bold, as a link, above a text: together they fit into the length, and the name into half of it. */
function headed(name: string, link: string | null, text: string, length: number): string {
  const head = `*${linkedWithin(name, link, length / 2)}*\n`;
  return `${head}${escapedWithin(text, length - head.length)}`;
}

/** Returns a table as lines of equal columns. */
export function tableText(table: NumberTable): string {
  const { columns, rows } = table;
  const shown = cellsShown(table);
  const lines = [columns, ...rows.map((row) => row.map((cell, at) => shown(cell, at).text))];
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

/** `verbatim`: Slack makes nothing of what looks like an address, a channel or a mention; what is written as a link is one. */
const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } });

function insightSection({ name, link, summary, table, moreRows, moreColumns }: ShownInsight) {
  const head = headed(name, link, summary, SECTION_LENGTH / 2);
  const count = table.rows.length;
  if (count === 0) return section(head);
  // Three backticks in a name would end the block.
  const lines = escaped(tableText(table).replaceAll('`', "'")).split('\n');
  const most = leftOutText({ moreRows: moreRows + count, moreColumns }).length;
  const shown = fittingLines(lines, SECTION_LENGTH - head.length - most - '\n``````\n'.length);
  const leftOut = leftOutText({ moreRows: moreRows + count - Math.max(0, shown.length - 1), moreColumns });
  return section(`${head}\n\`\`\`${shown.join('\n')}\`\`\`${leftOut === '' ? '' : `\n${leftOut}`}`);
}

/** Returns as many of the first lines as fit. */
function fittingLines(lines: readonly string[], length: number): readonly string[] {
  let left = length;
  const end = lines.findIndex((line) => (left -= line.length + 1) < -1);
  return end < 0 ? lines : lines.slice(0, end);
}

/** Returns the body of the request. */
export function slackBody({ title, lines, link, insights }: Message) {
  const head = headed(title, link, lines.join('\n'), SECTION_LENGTH).trimEnd();
  return {
    text: escapedWithin(unmentioned([title, ...lines].join('\n')), SECTION_LENGTH),
    blocks: [section(head), ...insights.map(insightSection)].slice(0, BLOCKS),
  };
}
