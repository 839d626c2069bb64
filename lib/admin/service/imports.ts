/** Imports by request: files that are here or in a bucket, and events that are to be there. */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type * as z from 'zod';
import { definedOf } from '../../basics/defined.ts';
import { plain } from '../../basics/plain.ts';
import { bytesText, counted } from '../../basics/text.ts';
import { MIB } from '../../basics/units.ts';
import { wireInstant } from '../../http/instant.ts';
import { type Import, OPEN_STATES, type ReadingInput, type Upload } from '../../imports/model.ts';
import { NEXT_OFFSET, PIECE_BYTES } from '../../imports/spool.ts';
import { localFile } from '../../lake/import/import.ts';
import type { CommandResult } from '../command-result.ts';
import { type ChosenOfFiles, withImportOptions } from '../import-options.ts';
import { backfillLines, problemText, rejectionLines } from '../import-report.ts';
import { ServiceError } from './client.ts';
import { type Addressed, type Asked, LOOK_MS, listing, type ServiceCommand } from './command.ts';
import { details } from './table.ts';

type ImportObject = z.output<typeof Import>;
type LocalFile = Awaited<ReturnType<typeof localFile>>;

const IMPORTS = ['imports', 'Imports of files by a running service'] as const;

/** So often is one thing asked before the answer is that there is none. */
const ATTEMPTS = 60;

/** A file is sent in parts of so many bytes. */
const PART_BYTES = 4 * MIB;

const importPath = ({ of, words }: Addressed): string => of(`/imports/${encodeURIComponent(words[0] ?? '')}`);

/**
 * Returns what a person reads of an import: of what was rejected the first records, and where a copy of all is, and the
 * commands that deliver what no schedule will.
 */
function importText({ client, of, same }: Pick<Asked, 'client' | 'of' | 'same'>, one: ImportObject): string {
  const name = plain(one.name);
  const told = details({
    id: one.id,
    file: one.name,
    state: one.state,
    read: `${one.bytes_read} of ${one.bytes} bytes, ${counted(one.events, 'event')}`,
    added: one.added,
    known: one.known,
    rejected: one.rejected,
    problem: one.problem === null ? one.error : problemText(one.problem),
    begun: one.created_at,
    ended: one.finished_at,
  });
  const rejections = one.rejections.map(({ line, reason }) => ({ file: name, line, reason: plain(reason) }));
  const address = client.address(of(`/imports/${one.id}/rejected/`));
  const inPieces =
    one.rejected_bytes > PIECE_BYTES
      ? `, ${bytesText(PIECE_BYTES)} at a time (the header ${NEXT_OFFSET} tells the ?offset= of the rest)`
      : '';
  const copy = `Download them with a key in WORKSPACE_KEY${inPieces}: curl -H "Authorization: Bearer $WORKSPACE_KEY" ${address}`;
  const backfills = one.backfills.map(({ start, end, ...of }) => ({
    ...of,
    from: Date.parse(start),
    to: Date.parse(end),
  }));
  return [
    told,
    ...rejectionLines(one.rejected, rejections),
    ...(one.rejected_bytes === 0 ? [] : [copy]),
    ...backfillLines(
      backfills,
      (id, { from, to }) =>
        `  npx workspace backfill start ${id} --from ${wireInstant(from)} --until ${wireInstant(to)}${same}`,
    ),
  ].join('\n');
}

/** Has anything of the file not become what it was to be? */
const isFailed = ({ state, rejected, problem }: ImportObject): boolean =>
  state !== 'completed' || rejected > 0 || problem !== null;

/** Asks again while nobody answers, or not for good, until there was no answer so many times: some minutes. */
async function patiently<T>({ pause }: Pick<Asked, 'pause'>, ask: () => Promise<T>): Promise<T> {
  for (let left = ATTEMPTS - 1; ; left -= 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.retryMs === undefined || left === 0) throw error;
      await pause(error.retryMs);
    }
  }
}

/**
 * Uploads a file and has it imported. An import that is interrupted before its end is cancelled; one that runs goes on
 * when the service answers no more.
 */
async function sent(asked: Asked<ChosenOfFiles>, { name, path: local, size }: LocalFile): Promise<ImportObject> {
  const { client, of, options, progress, pause } = asked;
  const again = <T>(ask: () => Promise<T>): Promise<T> => patiently(asked, ask);
  let isBegun = false;
  const bar = progress();
  await using content = await open(local);
  const made = await client.send<ImportObject>('POST', of('/imports/'), { name: basename(name), bytes: size });
  const path = of(`/imports/${made.id}`);
  try {
    for (let offset = 0; offset < size; ) {
      const { buffer, bytesRead } = await content.read(Buffer.alloc(PART_BYTES), 0, PART_BYTES, offset);
      if (bytesRead === 0) throw new Error(`${name} has become shorter while it was sent.`);
      const part = buffer.subarray(0, bytesRead);
      const put = () => client.put<z.output<typeof Upload>>(`${path}/content/`, { offset }, part);
      const { bytes_uploaded } = await again(put);
      offset = bytes_uploaded;
      bar.update(offset, size, 'uploaded');
    }
    const look = () => client.get<ImportObject>(`${path}/`);
    await again(async () => {
      // One whose answer was lost has begun.
      if ((await look()).state === 'uploading') await client.send('POST', `${path}/start/`, readingOf(options));
    });
    isBegun = true;
    for (;;) {
      const now = await again(look);
      if (!OPEN_STATES.includes(now.state)) return now;
      bar.update(now.bytes_read, size, `${now.events} events${now.rejected === 0 ? '' : `, ${now.rejected} rejected`}`);
      await pause(LOOK_MS);
    }
  } catch (error) {
    if (isBegun && error instanceof ServiceError && error.retryMs !== undefined)
      throw new ServiceError(`${error.message} The import goes on: imports show ${made.id}`);
    // What was wrong is told, whatever becomes of this.
    await client.last<ImportObject>('POST', `${path}/cancel/`).catch(() => {});
    throw error;
  } finally {
    bar.end();
  }
}

/** How files are read, as the service takes it. */
const readingOf = ({ format, column, value, arrived, pageViews }: ChosenOfFiles): z.input<typeof ReadingInput> =>
  definedOf({ format, columns: column, values: value, arrived, page_views: pageViews });

/** Sends files one after the other; those that are elsewhere are kept here for as long. Empty ones are only named. */
async function send(asked: Asked<ChosenOfFiles>): Promise<CommandResult> {
  const folder = await mkdtemp(join(tmpdir(), 'sending-'));
  try {
    const done: ImportObject[] = [];
    const texts: string[] = [];
    for (const file of await asked.files(asked.words)) {
      const found = await localFile(file, folder, asked.signal);
      if (found.size === 0) {
        texts.push(`${plain(found.name)} is empty: there is nothing to import.`);
        continue;
      }
      const one = await sent(asked, found);
      done.push(one);
      texts.push(importText(asked, one));
    }
    return { object: done, text: texts.join('\n\n'), failed: done.some(isFailed) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const IMPORT_COMMANDS: readonly ServiceCommand[] = [
  {
    group: IMPORTS,
    spec: 'send <file...>',
    description:
      'Upload files, folders, standard input (-), or s3://bucket/prefix, and import them, one file after the other',
    options: (command) => withImportOptions(command, 'kept by the service for 90 days'),
    run: send,
  },
  listing<ImportObject>({
    group: IMPORTS,
    spec: 'list',
    description: 'List imports, newest first',
    path: ({ of }) => of('/imports/'),
    header: ['ID', 'FILE', 'STATE', 'EVENTS', 'ADDED', 'REJECTED'],
    row: (one) => [one.id, one.name, one.state, one.events, one.added, one.rejected],
    empty: 'No imports.',
  }),
  {
    group: IMPORTS,
    spec: 'show <import>',
    description: 'Show how far an import is, and what became of it',
    run: async (asked) => {
      const found = await asked.client.get<ImportObject>(`${importPath(asked)}/`);
      return { object: found, text: importText(asked, found) };
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
