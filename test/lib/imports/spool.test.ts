/** The copy of what an import rejected, as it is read. */
import { readRejected, rejectedOf } from '../../../lib/imports/spool.ts';
import { Transient } from '../../../lib/ports/errors.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { temporaryFolder } from '../../support/context.ts';

const IMPORT = { project_id: 7, id: 'i' };

test('where nothing was rejected there is none to read', async () => {
  const files = folderFiles(temporaryFolder());
  await expect(readRejected(files, IMPORT, 0)).rejects.toMatchObject({
    status: 404,
    message: 'There are no rejected lines of the import.',
  });
});

test.each([
  ['may pass', new Transient('S3 does not answer: SlowDown')],
  ['is full', Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })],
])('files that cannot be read as what keeps them %s are not said to be none', async (_, trouble) => {
  const files = folderFiles(temporaryFolder());
  await files.write(rejectedOf(IMPORT), 'no event\n');
  expect(await readRejected(files, IMPORT, 0)).toEqual({ text: 'no event\n', next: undefined });
  const broken = { ...files, local: () => Promise.reject(trouble) };
  await expect(readRejected(broken, IMPORT, 0)).rejects.toBe(trouble);
});
