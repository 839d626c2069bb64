import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtFolder } from '../../../infra/build/built-folder.ts';
import { temporaryFolder } from '../../support/context.ts';

/** Makes a file with this text in it. */
const making = (text: string) => (fresh: string) => {
  writeFileSync(join(fresh, 'made.txt'), text);
  return Promise.resolve({ text });
};

const within = (folder: string): string => readFileSync(join(folder, 'made.txt'), 'utf8');

test('what is built is built once, and anew when it is made of something else', async () => {
  const folder = join(temporaryFolder(), 'below', 'built');
  const first = await builtFolder(folder, ['tsconfig.json'], making('one'));
  expect([first.text, within(folder)]).toEqual(['one', 'one']);
  expect(await builtFolder(folder, ['tsconfig.json'], making('two'))).toEqual(first);
  expect(within(folder)).toBe('one');
  expect(await builtFolder(folder, ['tsconfig.json', 'cdk.json'], making('three'))).toMatchObject({ text: 'three' });
  expect([within(folder), readdirSync(join(folder, '..'))]).toEqual(['three', ['built']]);
});

test('what another process has built meanwhile stays, for somebody may be reading it', async () => {
  const folder = join(temporaryFolder(), 'built');
  const late = await builtFolder(folder, ['tsconfig.json'], async (fresh) => {
    await builtFolder(folder, ['tsconfig.json'], making('theirs'));
    return making('mine')(fresh);
  });
  expect([late.text, within(folder), readdirSync(join(folder, '..'))]).toEqual(['theirs', 'theirs', ['built']]);
});

test('a build that fails leaves what was there', async () => {
  const folder = join(temporaryFolder(), 'built');
  await builtFolder(folder, ['tsconfig.json'], making('one'));
  const failed = builtFolder(folder, ['cdk.json'], () => Promise.reject(new Error('no')));
  await expect(failed).rejects.toThrow('no');
  expect([within(folder), readdirSync(join(folder, '..'))]).toEqual(['one', ['built']]);
});

test('a build that was killed leaves nothing for long', async () => {
  const beside = temporaryFolder();
  const left = (name: string, isOld: boolean): void => {
    mkdirSync(join(beside, name));
    writeFileSync(join(beside, name, 'half.txt'), '');
    if (isOld) utimesSync(join(beside, name), 0, 0);
  };
  left('built-Ab3xYz', true);
  left('built-new123', false);
  left('built-by-hand', true);
  await builtFolder(join(beside, 'built'), ['tsconfig.json'], making('one'));
  expect(readdirSync(beside).toSorted()).toEqual(['built', 'built-by-hand', 'built-new123']);
});

test('what one user has built, in an image, another one reads', async () => {
  const folder = join(temporaryFolder(), 'built');
  const before = process.umask(0o022);
  await builtFolder(folder, ['tsconfig.json'], making('one')).finally(() => process.umask(before));
  expect((statSync(folder).mode & 0o777).toString(8)).toBe('755');
});
