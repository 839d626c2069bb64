import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromiumPictures } from '../../../lib/pictures/chromium.ts';
import { browserProgram, describeInBrowser } from '../../support/browser.ts';
import { temporaryFolder } from '../../support/context.ts';
import { startReceiver } from '../../support/receiver.ts';

const log = { warning: () => {} };

const pageOf = (body: string): string =>
  `<!doctype html><html lang="en"><title>Page</title><body>${body}</body></html>`;

/** Width and height of a PNG, in dots. */
const sizeOf = (png: Buffer): number[] => [png.readUInt32BE(16), png.readUInt32BE(20)];

describeInBrowser('pictures by a browser of the machine', () => {
  const pictures = () => {
    const folder = temporaryFolder();
    return { folder, pictures: chromiumPictures({ ...browserProgram(), folder, log }) };
  };

  test('are of the whole page, made once for all who ask, and nothing of the browser is left', async () => {
    const { folder, pictures: made } = pictures();
    const page = {
      html: pageOf('<div style="height: 2000px">Tall</div>'),
      form: 'png',
      owner: 'an organization',
    } as const;
    const [one, two] = await Promise.all([made.make(page), made.make(page)]);
    expect(one.subarray(1, 4).toString()).toBe('PNG');
    expect(sizeOf(one)).toEqual([2400, 4032]);
    expect(two).toBe(one);
    expect(await made.make(page)).toBe(one);
    expect((await made.make({ ...page, form: 'pdf' })).subarray(0, 5).toString()).toBe('%PDF-');
    const narrow = await made.make({ ...page, html: pageOf('<p>Short</p>'), size: { width: 600, height: 1 } });
    expect(sizeOf(narrow)[0]).toBe(1200);
    expect(sizeOf(narrow)[1]).toBeLessThan(200);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('show what the page holds: no script runs, and nothing is asked of any address', async () => {
    const server = await startReceiver();
    const { pictures: made } = pictures();
    const html = pageOf(`<script>document.body.innerHTML = '<div style="height: 3000px"></div>'</script>
      <img src="${server.url}/picture.png"><iframe src="${server.url}/frame"></iframe>
      <link rel="stylesheet" href="${server.url}/style.css">`);
    const png = await made.make({ html, form: 'png', owner: 'an organization' });
    expect(sizeOf(png)[1]).toBeLessThan(3000);
    await server.close();
    expect(server.received).toEqual([]);
  });
});

test.each([
  ['is not there', '/nowhere/chromium', /could not be started/],
  ['ends at once', '/bin/false', /^The browser ended/],
])('a program that %s makes no picture', async (_, program, message) => {
  const made = chromiumPictures({ program, environment: {}, folder: temporaryFolder(), log });
  await expect(made.make({ html: pageOf('x'), form: 'png', owner: 'o' })).rejects.toThrow(message);
});

test('a program that takes too long is killed with all that it has started', async () => {
  const folder = temporaryFolder();
  const [program, proof] = [join(folder, 'slow'), join(folder, 'proof')];
  writeFileSync(program, `#!/bin/sh\n(while :; do sleep 0.05; done; touch ${proof}) & wait\n`);
  chmodSync(program, 0o700);
  const environment = { PATH: process.env['PATH'] };
  const made = chromiumPictures({ program, environment, folder: join(folder, 'own'), log, mostMs: 50 });
  await expect(made.make({ html: pageOf('x'), form: 'png', owner: 'o' })).rejects.toThrow('took longer than 0.05 s');
  expect(existsSync(proof)).toBe(false);
  expect(readdirSync(join(folder, 'own'))).toEqual([]);
});

test('a picture that waits for its turn is made as long as somebody waits for it', async () => {
  const folder = temporaryFolder();
  const [program, starts] = [join(folder, 'program'), join(folder, 'starts')];
  writeFileSync(program, `#!/bin/sh\necho started >> ${starts}\nexit 1\n`);
  chmodSync(program, 0o700);
  const made = chromiumPictures({ program, environment: {}, folder: join(folder, 'own'), log });
  const page = (text: string) => ({ html: pageOf(text), form: 'png', owner: 'o' }) as const;
  const first = made.make(page('first'));
  const [one, two] = [new AbortController(), new AbortController()];
  const left = [made.make(page('left'), one.signal), made.make(page('left'), two.signal)];
  const stayed = [made.make(page('stayed'), one.signal), made.make(page('stayed'))];
  const ends = Promise.allSettled([first, ...left, ...stayed]);
  one.abort(new Error('one left'));
  two.abort(new Error('two left'));
  const reasons = (await ends).map((end) => String(end.status === 'rejected' && (end.reason as Error).message));
  expect(reasons.slice(1, 3)).toEqual(['two left', 'two left']);
  expect(reasons.filter((reason) => reason.startsWith('The browser ended'))).toHaveLength(3);
  expect(readFileSync(starts, 'utf8')).toBe('started\n'.repeat(2));
});
