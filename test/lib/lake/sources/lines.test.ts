import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { type Line, LONGEST_LINE, linesOf } from '../../../../lib/lake/sources/lines.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const folder = temporaryFolder();

async function read(content: Uint8Array | string) {
  const file = join(folder, 'file');
  writeFileSync(file, content);
  const source = linesOf(file);
  const lines: Line[] = [];
  for await (const batch of source.batches()) lines.push(...batch);
  return { lines, damage: source.damage(), bytesRead: source.bytesRead() };
}

const textsOf = async (content: Uint8Array | string) => (await read(content)).lines.map(({ text }) => text);

test.each([
  ['an empty file', '', []],
  ['a last line without an end', 'a\nb', ['a', 'b']],
  ['a last line with an end', 'a\nb\n', ['a', 'b']],
  ['empty lines', '\n\na\n\n', ['', '', 'a', '']],
  ['ends of Windows', 'a\r\nb\r\n', ['a', 'b']],
  ['a byte order mark', '\ufeffa\n\ufeffb\n', ['a', '\ufeffb']],
  ['many scripts', 'ä\n漢\n😀\n', ['ä', '漢', '😀']],
])('%s', async (_what, content, expected) => {
  expect(await textsOf(content)).toEqual(expected);
  expect(await textsOf(gzipSync(content))).toEqual(expected);
  expect(await textsOf(zstdCompressSync(content))).toEqual(expected);
});

test('lines are numbered from 1, and all bytes are counted', async () => {
  const { lines, bytesRead } = await read('a\nb\nc');
  expect(lines.map(({ number }) => number)).toEqual([1, 2, 3]);
  expect(bytesRead).toBe(5);
});

test('a line that is not UTF-8 keeps its bytes as Latin-1, and the others are not touched', async () => {
  const content = Buffer.concat([Buffer.from('ä\n'), Buffer.from([0xe4, 0x62, 10]), Buffer.from('ö')]);
  const { lines } = await read(content);
  expect(lines.map(({ text, encoding }) => [text, encoding])).toEqual([
    ['ä', 'utf8'],
    ['äb', 'latin1'],
    ['ö', 'utf8'],
  ]);
});

test('a byte order mark is no part of the first line, whatever the lines behind it are', async () => {
  const { lines } = await read(Buffer.concat([Buffer.from('\ufeffa\n'), Buffer.from([0xe4, 10])]));
  expect(lines.map(({ text }) => text)).toEqual(['a', 'ä']);
});

test('a line with a NUL byte has a problem', async () => {
  const { lines } = await read('a\0b\nc\n');
  expect(lines).toMatchObject([{ problem: 'holds a NUL byte' }, { text: 'c' }]);
});

test.each([
  ['as long as a line may be', LONGEST_LINE, undefined],
  ['one byte longer', LONGEST_LINE + 1, 'longer than 1048576 bytes'],
  ['much longer', 5 * LONGEST_LINE, 'longer than 1048576 bytes'],
])('a line %s', async (_what, length, problem) => {
  for (const end of ['', '\n', '\nnext']) {
    const { lines } = await read(`first\n${'x'.repeat(length)}${end}`);
    expect(lines[1]?.problem).toBe(problem);
    expect(lines[1]?.text).toHaveLength(Math.min(length, LONGEST_LINE));
    expect(lines.map(({ number }) => number)).toEqual(end === '\nnext' ? [1, 2, 3] : [1, 2]);
    expect(lines[2]?.text).toBe(end === '\nnext' ? 'next' : undefined);
  }
});

describe.each([
  ['gzip', gzipSync],
  ['zstd', zstdCompressSync],
] as const)('%s', (name, pack) => {
  const text = Array.from({ length: 20_000 }, (_, n) => `line ${n} ${Math.sin(n)}`).join('\n');
  const packed = pack(text);

  test('of several parts is read through, wherever they meet', async () => {
    const first = pack(`a\n${'x'.repeat(300_000)}\n`);
    for (const padding of [0, 1, 2, 3]) {
      // Parts that end around where pieces of the file do.
      const noise = createHash('shake256', { outputLength: 262_144 - first.length - 40 - padding });
      const filler = pack(
        noise
          .digest()
          .toString('latin1')
          .replaceAll(/[\r\n\0]/g, '.'),
      );
      const lines = await textsOf(Buffer.concat([first, filler, pack('\nb\n'), pack('c\n')]));
      expect([lines[0], lines.length, ...lines.slice(-2)]).toEqual(['a', 5, 'b', 'c']);
    }
  });

  test('with zeros behind it is whole, with anything else it is not', async () => {
    expect(await read(Buffer.concat([pack('a\n'), Buffer.alloc(1024)]))).toMatchObject({ damage: undefined });
    const { damage } = await read(Buffer.concat([pack('a\n'), Buffer.from('more of something')]));
    expect(damage).toContain(`the ${name} data`);
  });

  test('is inflated a little at a time, however well it is packed', async () => {
    const file = join(folder, 'bomb');
    writeFileSync(file, pack(Buffer.alloc(24 * 1024 * 1024, '0123456789abcde\n')));
    let most = 0;
    let count = 0;
    for await (const lines of linesOf(file).batches()) {
      most = Math.max(most, lines.length);
      count += lines.length;
    }
    expect(count).toBe((24 * 1024 * 1024) / 16);
    expect(most).toBeLessThan(20_000);
  });

  test('that is cut off gives what is there, says so, and makes no event of the last piece', async () => {
    const { lines, damage } = await read(packed.subarray(0, packed.length / 2));
    expect(damage).toBe(`the ${name} data is cut off: its end is missing`);
    expect(lines.length).toBeGreaterThan(5_000);
    expect(lines.slice(0, -1).map(({ text }) => text)).toEqual(text.split('\n').slice(0, lines.length - 1));
    expect(lines.at(-1)?.problem).toBe('the file is damaged in this line');
    expect(lines.slice(0, -1).every(({ problem }) => problem === undefined)).toBe(true);
  });

  test('that is damaged in the middle gives what comes before, and says so', async () => {
    const broken = Buffer.from(packed);
    broken.fill(0xff, Math.floor(packed.length / 2), Math.floor(packed.length / 2) + 1000);
    const { lines, damage } = await read(broken);
    expect(damage).toContain(`the ${name} data is damaged: `);
    expect(lines.length).toBeGreaterThan(1000);
  });

  test('of nothing but a header is an empty file that is cut off', async () => {
    expect(await read(packed.subarray(0, 10))).toMatchObject({ lines: [], damage: expect.stringContaining('cut off') });
  });
});

describe('what inflates to very much', () => {
  const BLOCK = 128 * 1024;
  /** A frame of blocks that are one byte each, over and over, which is as well as zstd packs anything. */
  const framed = (bytes: readonly string[]): Buffer => {
    const blocks = bytes.map((byte, n) => {
      const block = Buffer.alloc(4, byte);
      block.writeUIntLE((BLOCK << 3) | 2 | (n === bytes.length - 1 ? 1 : 0), 0, 3);
      return block;
    });
    return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]), ...blocks]);
  };
  /** Reads no more of each line than that it is there. */
  async function count(content: Uint8Array) {
    const file = join(folder, 'bomb');
    writeFileSync(file, content);
    const source = linesOf(file);
    let lines = 0;
    let last: Line | undefined;
    for await (const some of source.batches()) {
      lines += some.length;
      last = some.at(-1);
    }
    return { lines, last, damage: source.damage() };
  }
  const told = 'the zstd data inflates to far more than its size: it is read no further';
  /** So many bytes, where a line counts as so many more. */
  const MOST = { bytes: 2 ** 30, times: 1_000, ofLine: 64 };

  test('is a log that says the same again and again, and is read to its end', async () => {
    const line = `${JSON.stringify({ event: 'heartbeat', distinct_id: 'd', timestamp: '2026-11-01T00:00:00Z' })}\n`;
    const most = 500_000;
    const content = Buffer.alloc(most * line.length, line);
    expect(await count(zstdCompressSync(content))).toMatchObject({ lines: most, damage: undefined });
  });

  test.each([
    ['blank lines', '\n', 200],
    ['one endless line', 'x', 9_000],
  ])('is read no further than into a part of %s, and says so', async (_, byte, blocks) => {
    const { lines, damage } = await count(framed(Array(blocks).fill(byte)));
    expect(damage).toBe(told);
    expect(lines).toBeLessThan(17e6);
  });

  test('says of the line where reading ends that, and not that it is damaged', async () => {
    const [blank, filled] = [(1 + MOST.ofLine) * BLOCK, BLOCK];
    // Lines of one block are put between blank ones until what is left is less than a line may be long.
    const most = MOST.bytes + MOST.times * 800;
    const blanks = Math.floor(most / blank);
    const lines = Math.floor((most - blanks * blank) / filled) - 3;
    const blocks = Array.from({ length: blanks }, (_, n) => (n < lines ? ['\n', 'x'] : ['\n'])).flat();
    blocks.push(...Array<string>(6).fill('x'));
    const { last, damage } = await count(framed(blocks));
    expect(damage).toBe(told);
    expect(last).toMatchObject({
      text: expect.stringMatching(/^x+$/),
      problem: 'the file is read no further than into this line',
    });
  });
});

test('gzip that lacks only its checksum gives all lines', async () => {
  const packed = gzipSync(Array.from({ length: 20_000 }, (_, n) => `line ${n}`).join('\n'));
  const { lines, damage } = await read(packed.subarray(0, -4));
  expect(lines).toHaveLength(20_000);
  expect(damage).toBe('the gzip data is cut off: its end is missing');
});

test('any bytes are lines, as many as there are line ends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.uint8Array(), fc.constant(new Uint8Array([10])))), async (pieces) => {
      const content = Buffer.concat([Buffer.from('x'), ...pieces]);
      const { lines } = await read(content);
      const ends = content.filter((byte) => byte === 10).length;
      expect(lines).toHaveLength(ends + (content.at(-1) === 10 ? 0 : 1));
      const again = lines.map(({ text, encoding }) => Buffer.from(text, encoding));
      const expected = content.toString('latin1').split('\n').slice(0, lines.length);
      expect(again.map((bytes) => bytes.toString('latin1'))).toEqual(expected.map((line) => line.replace(/\r$/, '')));
    }),
    { numRuns: propertyRuns(200) },
  );
});
