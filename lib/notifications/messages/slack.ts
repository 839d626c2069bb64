/** A message in the form of Slack's incoming webhooks, which others (Mattermost, Rocket.Chat) read too. */
import type { NumberTable } from '../../charts/chart.ts';
import type { Message, ShownInsight } from './message.ts';

/** Slack's limits, in characters of a section; a message has 50 blocks at most. */
const SECTION_LENGTH = 3000;
const BLOCKS = 50;

/** Returns a text as Slack shows it: nothing in it is a link or calls people. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

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
  const head = headed(name, link, summary, SECTION_LENGTH / 2);
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
  const head = headed(title, link, lines.join('\n'), SECTION_LENGTH).trimEnd();
  return {
    text: escapedWithin([title, ...lines].join('\n'), SECTION_LENGTH),
    blocks: [section(head), ...insights.map(insightSection)].slice(0, BLOCKS),
  };
}
