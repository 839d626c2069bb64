/** Imports by request: files that lie here, and events that are to be there. */
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Command, Option } from 'commander';
import type * as z from 'zod';
import { type Import, OPEN_STATES, type Upload } from '../../imports/model.ts';
import { IMPORT_FORMATS, type ImportFormat } from '../../lake/sources/formats.ts';
import type { Outcome } from '../commands.ts';
import { type Addressed, type Asked, LOOK_MS, type ServiceCommand, withLimit } from './command.ts';
import { details, plain, table } from './table.ts';

type ImportObject = z.output<typeof Import>;

const IMPORTS = ['imports', 'Imports of files by a running service'] as const;

/** A file is sent in parts of so many bytes. */
const PART_BYTES = 4 * 1024 * 1024;

const importPath = ({ of, words }: Addressed): string => of(`/imports/${encodeURIComponent(words[0] ?? '')}`);

const importText = (one: ImportObject): string =>
  details({
    id: one.id,
    file: one.name,
    state: one.state,
    read: `${one.bytes_read} of ${one.bytes} bytes, ${one.events} events`,
    added: one.added,
    known: one.known,
    rejected: one.rejected,
    problem: one.problem ?? one.error,
    begun: one.created_at,
    ended: one.finished_at,
  });

/** Has anything of the file not become what it was to be? */
const isFailed = ({ state, rejected, problem }: ImportObject): boolean =>
  state !== 'completed' || rejected > 0 || problem !== null;

interface SendOptions {
  readonly format?: ImportFormat;
}

/** Uploads a file and has it imported. An import that is interrupted before its end is cancelled. */
async function sent(asked: Asked<SendOptions>, file: string): Promise<ImportObject> {
  const { client, of, options, progress, pause, resolve } = asked;
  const bar = progress();
  await using content = await open(resolve(file));
  const { size } = await content.stat();
  const made = await client.send<ImportObject>('POST', of('/imports/'), { name: basename(file), bytes: size });
  const path = of(`/imports/${made.id}`);
  try {
    for (let offset = 0; offset < size; ) {
      const { buffer, bytesRead } = await content.read(Buffer.alloc(PART_BYTES), 0, PART_BYTES, offset);
      const part = buffer.subarray(0, bytesRead);
      const { bytes_uploaded } = await client.put<z.output<typeof Upload>>(`${path}/content/`, { offset }, part);
      offset = bytes_uploaded;
      bar.update(offset, size, 'uploaded');
    }
    const { format } = options;
    await client.send('POST', `${path}/start/`, format === undefined ? {} : { format });
    for (;;) {
      const now = await client.get<ImportObject>(`${path}/`);
      if (!OPEN_STATES.includes(now.state)) return now;
      bar.update(now.bytes_read, size, `${now.events} events${now.rejected === 0 ? '' : `, ${now.rejected} rejected`}`);
      await pause(LOOK_MS);
    }
  } catch (error) {
    // What was wrong is told, whatever becomes of this.
    await client.last<ImportObject>('POST', `${path}/cancel/`).catch(() => {});
    throw error;
  } finally {
    bar.end();
  }
}

const withFormat = (command: Command): Command =>
  command.addOption(
    new Option('--format <format>', 'what the files hold; default: told by how each file begins').choices(
      IMPORT_FORMATS,
    ),
  );

export const IMPORT_COMMANDS: readonly ServiceCommand[] = [
  {
    group: IMPORTS,
    spec: 'send <file...>',
    description: 'Upload files and import them, one after the other',
    options: withFormat,
    run: async (asked: Asked<SendOptions>): Promise<Outcome> => {
      const done: ImportObject[] = [];
      for (const file of asked.words) done.push(await sent(asked, file));
      return { object: done, text: done.map(importText).join('\n\n'), failed: done.some(isFailed) };
    },
  },
  {
    group: IMPORTS,
    spec: 'list',
    description: 'List imports, newest first',
    options: withLimit,
    run: async ({ client, of, options }: Asked<{ limit: number }>) => {
      const found = await client.list<ImportObject>(of('/imports/'), options.limit);
      const rows = found.map((one) => [one.id, one.name, one.state, one.events, one.added, one.rejected]);
      return {
        object: found,
        text: table(['ID', 'FILE', 'STATE', 'EVENTS', 'ADDED', 'REJECTED'], rows, 'No imports.'),
      };
    },
  },
  {
    group: IMPORTS,
    spec: 'show <import>',
    description: 'Show how far an import is, and what became of it',
    run: async (asked) => {
      const found = await asked.client.get<ImportObject>(`${importPath(asked)}/`);
      return { object: found, text: importText(found) };
    },
  },
  {
    group: IMPORTS,
    spec: 'cancel <import>',
    description: 'End an import; what it has added stays',
    run: async (asked) => {
      const found = await asked.client.send<ImportObject>('POST', `${importPath(asked)}/cancel/`);
      return { object: found, text: `Cancelled the import of ${plain(found.name)}` };
    },
  },
];
