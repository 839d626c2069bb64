/** What a command that imports files may be told of them. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { IMPORT_FORMATS, type ImportFormat, PAGE_VIEWS, type PageViews } from '../lake/sources/formats.ts';

/** The options of `withImportOptions`. */
export interface ChosenOfFiles {
  readonly format?: ImportFormat;
  readonly column?: Readonly<Record<string, string>>;
  readonly value?: Readonly<Record<string, string>>;
  readonly arrived?: 'now' | 'then';
  readonly pageViews?: PageViews;
}

const help = (kept: string): string => `
Formats (lines may be packed with gzip or zstd):
  combined  web server logs, as Apache and nginx write them
  jsonl     a JSON object a line: event, distinct_id, timestamp, properties ...
  csv       a table with a header, between commas, semicolons, tabs or bars
  parquet   a table
Files of the batch exports of PostHog, and of this service, are read as they are: events and persons.

Tables: a column is the field of its name (event, distinct_id, timestamp, uuid, properties, created_at, person_id,
person_properties, elements_chain), and any other column a property, unless there is a column properties.
  --column event=Action --column timestamp="Created at" --column properties.plan=Tier --value event=purchase

Records that cannot be imported are counted, named with their reasons, and ${kept}, to be mended and imported again.
`;

/** Takes one more `name=text` in. */
function pair(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === '') throw new InvalidArgumentError('It must be written as field=text.');
  return { ...before, [name]: value };
}

/** Adds the options, and to the help what formats there are, and where rejected records are: `copied to a file`. */
export const withImportOptions = (command: Command, kept: string): Command =>
  command
    .addOption(
      new Option('--format <format>', 'what the files hold; default: told by how each file begins').choices(
        IMPORT_FORMATS,
      ),
    )
    .option('--column <field=column>', 'which column of a table is a field of events; may be given again', pair)
    .option('--value <field=text>', 'what a field is in all rows of a table; may be given again', pair)
    .addOption(
      new Option(
        '--arrived <when>',
        'when the events count as arrived: now, or then (at their own time). Default: then for history, now otherwise',
      ).choices(['now', 'then']),
    )
    .addOption(
      new Option(
        '--page-views <which>',
        'which requests of a log are $pageview events: those for pages by people (others are $http_log), or all',
      )
        .choices(PAGE_VIEWS)
        .default('pages'),
    )
    .addHelpText('after', help(kept));
