/** Runs of imports by request, one after another in a folder, as a worker has them. */
import { readdirSync } from 'node:fs';
import { type ImportTask, runImport } from '../../../lib/imports/run.ts';
import { keepPart, rejectedOf } from '../../../lib/imports/spool.ts';
import type { FileStore } from '../../../lib/ports/files/files.ts';
import { temporaryFolder } from '../../support/context.ts';
import { importContext, PROJECT } from '../../support/imports.ts';

const line = (n: number): string =>
  `${JSON.stringify({ event: 'paid', distinct_id: `u${n}`, timestamp: '2025-12-31T00:00:00Z' })}\n`;

async function world() {
  const context = await importContext();
  const files = context.imports?.files as FileStore;
  const folder = temporaryFolder();
  const upload = async (projectId: number, content: string): Promise<ImportTask> => {
    const place = { project_id: projectId, id: context.newId() };
    await keepPart(files, place, 0, Buffer.from(content));
    return { ...place, bytes: Buffer.byteLength(content), options: { mapping: {} }, isAgain: false };
  };
  const run = (task: ImportTask, store = files) => runImport(context, task, { files: store, folder, onProgress() {} });
  return { files, folder, upload, run };
}

test('a run that fails leaves no rejected line to the next one, of whatever project', async () => {
  const { files, folder, upload, run } = await world();
  const log = line(1) + line(2);
  await run(await upload(8, log));
  const full: FileStore = { ...files, take: () => Promise.reject(new Error('ENOSPC: no space left on device')) };
  await expect(run(await upload(PROJECT, `${line(3)}a secret\n`), full)).rejects.toThrow('no space');
  // A log that has grown is read on, behind what was imported of it.
  const grown = await upload(8, `${log}no event\n${line(4)}`);
  expect(await run(grown)).toMatchObject({ added: 1, bad: 1, rejectedBytes: 9 });
  expect((await files.read(rejectedOf(grown)))?.toString()).toBe('no event\n');
  expect(readdirSync(folder)).toEqual([]);
});
