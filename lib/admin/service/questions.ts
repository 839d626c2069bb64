/** What arrives, and what the events say. */

import { Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import type * as z from 'zod';
import { plain } from '../../basics/plain.ts';
import type { LakeEvent } from '../../reading/events/model.ts';
import { ServiceError } from './client.ts';
import { type Asked, countOf, LOOK_MS, type ServiceCommand } from './command.ts';
import { table } from './table.ts';

type Event = z.output<typeof LakeEvent>;

/** What the answer of a HogQL query has. */
interface Answer {
  readonly columns: readonly string[];
  readonly results: readonly (readonly unknown[])[];
  readonly hasMore?: boolean;
}

interface QueryOptions {
  readonly format: 'table' | 'csv' | 'json';
}

const MORE_ROWS = 'There are more rows: a LIMIT in the query, by default 100, says how many are printed.';

const eventLine = ({ timestamp, event, distinct_id, properties }: Event): string =>
  plain(`${timestamp}  ${event}  ${distinct_id}  ${JSON.stringify(properties)}`);

interface TailOptions {
  readonly event?: string;
  readonly count: number;
}

/** An event may become readable a little after another that happened later. */
const LATE_MS = 60_000;

/** Returns since when events are looked for behind this one: where it is dated ahead, it hides none of those until then. */
const lateAfter = ({ timestamp }: Event): string =>
  new Date(Math.min(Date.parse(timestamp), Date.now()) - LATE_MS).toISOString();

/** Shows the newest events, and those that arrive, in the order in which they are found. */
async function tail({ client, of, options, show, pause }: Asked<TailOptions>): Promise<never> {
  let known = new Set<string>();
  let after: string | undefined;
  // Where nothing is shown at first, what arrives is looked for behind what is there by now.
  const [newest] = options.event === undefined ? [] : await client.list<Event>(of('/events/'), 1);
  for (;;) {
    const limit = after === undefined ? options.count : Number.POSITIVE_INFINITY;
    const newestFirst = await client.list<Event>(of('/events/'), limit, { event: options.event, after });
    const events = newestFirst.toReversed();
    for (const event of events) if (!known.has(event.id)) show(event, eventLine(event));
    known = new Set(events.map(({ id }) => id));
    const last = events.at(-1);
    if (last !== undefined) after = lateAfter(last);
    else if (newest !== undefined) after ??= lateAfter(newest);
    await pause(LOOK_MS);
  }
}

/** Returns rows as objects. Throws `ServiceError` where two columns have one name: one of them would be lost. */
function objectsOf({ columns, results }: Answer): object[] {
  const twice = columns.find((name, n) => columns.indexOf(name) < n);
  if (twice !== undefined) throw new ServiceError(`Two columns are named ${plain(twice)}: name one of them with AS.`);
  return results.map((row) => Object.fromEntries(columns.map((name, n) => [name, row[n]])));
}

export const QUESTION_COMMANDS: readonly ServiceCommand[] = [
  {
    group: ['events', 'Events'],
    spec: 'tail',
    description: 'Show the newest events and those that arrive, until Ctrl-C',
    options: (command) =>
      command
        .option('--event <name>', 'only those of this name')
        .option('--count <count>', 'how many of those that are there', countOf, 10),
    run: tail,
  },
  {
    spec: 'query <hogql>',
    description:
      "Answer a query, such as 'SELECT event, count() FROM events GROUP BY event'; - reads it from standard input",
    options: (command) =>
      command.addOption(
        new Option('--format <format>', 'how rows are printed')
          .choices(['table', 'csv', 'json'])
          .default('table')
          .conflicts('json'),
      ),
    run: async ({ client, of, words, options, read }: Asked<QueryOptions>) => {
      const hogql = words[0] === '-' ? await read('-') : words[0];
      const answer = await client.send<Answer>('POST', of('/query/'), { query: { kind: 'HogQLQuery', query: hogql } });
      const { columns, results } = answer;
      const text = {
        table: () => table(columns, results, 'No rows.'),
        csv: () =>
          stringify([columns, ...results], {
            cast: { boolean: String, object: (value) => JSON.stringify(value) },
          }).trimEnd(),
        json: () => JSON.stringify(objectsOf(answer)),
      }[options.format];
      return { object: answer, text: text(), ...(answer.hasMore === true ? { aside: MORE_ROWS } : {}) };
    },
  },
];
