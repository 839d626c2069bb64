import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ReadAheadOptions, readAhead } from '../../../lib/workers/read-ahead.ts';
import { temporaryFolder } from '../../support/context.ts';

const never = new AbortController().signal;
const PART = 1000;

afterEach(() => void jest.useRealTimers());

/** A source of parts that tells how many were asked for, when it has come to `stop` of them, and when it has ended. */
function sourceOf(parts: number, { fails, stop = 0 }: { readonly fails?: Error; readonly stop?: number } = {}) {
  const [stopped, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const state = { given: 0, stopped: stopped.promise, ended: ended.promise, signal: never };
  const source = async function* (signal: AbortSignal): AsyncGenerator<Buffer> {
    state.signal = signal;
    try {
      for (; state.given < parts; ) {
        state.given += 1;
        if (state.given === stop) stopped.resolve();
        yield Buffer.alloc(PART, state.given);
      }
      if (fails !== undefined) throw fails;
    } finally {
      ended.resolve();
    }
  };
  return { state, source, all: Buffer.concat(Array.from({ length: parts }, (_, n) => Buffer.alloc(PART, n + 1))) };
}

const options = (fields: Partial<ReadAheadOptions> = {}): ReadAheadOptions => ({
  folder: temporaryFolder(),
  memoryBytes: 3 * PART,
  fileBytes: 1000 * PART,
  patienceMs: 0,
  ...fields,
});

async function rest(bytes: AsyncIterable<Buffer>, ...first: Buffer[]): Promise<Buffer> {
  const parts = [...first];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
};

test('a source is done before its reader is, who has all bytes in their order', async () => {
  const { state, source, all } = sourceOf(50);
  const { folder, ...limits } = options();
  const bytes = readAhead(source, never, { folder, ...limits });
  const first = (await bytes.next()).value as Buffer;
  await state.ended;
  expect(first).toEqual(Buffer.alloc(PART, 1));
  expect(await rest(bytes, first)).toEqual(all);
  expect(readdirSync(folder)).toEqual([]);
});

test('bytes come in their order, whoever of both is faster by the moment', async () => {
  const { source, all } = sourceOf(50);
  const bytes = readAhead(source, never, options());
  const parts: Buffer[] = [];
  for await (const part of bytes) {
    parts.push(part);
    if (parts.length % 7 === 0) await settled();
  }
  expect(Buffer.concat(parts)).toEqual(all);
});

test('a reader that is behind is waited for, for some time', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
  const { state, source, all } = sourceOf(50);
  const bytes = readAhead(source, never, options({ patienceMs: 30_000 }));
  const first = (await bytes.next()).value as Buffer;
  await settled();
  jest.advanceTimersByTime(29_999);
  await settled();
  // One was read, three wait, and one is in hand.
  expect(state.given).toBe(5);
  jest.advanceTimersByTime(1);
  await state.ended;
  expect(await rest(bytes, first)).toEqual(all);
});

test.each([
  ['holds as much as it may', { fileBytes: 10 * PART }, 15],
  ['cannot be made', { folder: join('/nowhere', 'at all') }, 5],
])('where the file %s, the source waits for its reader', async (_, fields, given) => {
  const { state, source, all } = sourceOf(50, { stop: given });
  const bytes = readAhead(source, never, options(fields));
  const first = (await bytes.next()).value as Buffer;
  await state.stopped;
  await settled();
  expect(state.given).toBe(given);
  expect(await rest(bytes, first)).toEqual(all);
});

test('a file that was read to its end takes as much once more', async () => {
  // 28: fourteen are read, three wait, ten are in the file again, and one is in hand.
  const { state, source, all } = sourceOf(50, { stop: 28 });
  const bytes = readAhead(source, never, options({ fileBytes: 10 * PART }));
  const parts = [(await bytes.next()).value as Buffer];
  while (state.given < 15) await settled();
  while (Buffer.concat(parts).length < 14 * PART) parts.push((await bytes.next()).value as Buffer);
  await state.stopped;
  await settled();
  expect(state.given).toBe(28);
  expect(await rest(bytes, ...parts)).toEqual(all);
});

test('a reader that has caught up is waited for as long as before, once it is behind again', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
  const { state, source, all } = sourceOf(50);
  const more = Promise.withResolvers<void>();
  const bytes = readAhead(
    async function* (signal) {
      for await (const part of source(signal)) {
        if (state.given === 6) await more.promise;
        yield part;
      }
    },
    never,
    options({ patienceMs: 30_000 }),
  );
  const parts = [(await bytes.next()).value as Buffer];
  await settled();
  jest.advanceTimersByTime(29_999);
  while (parts.length < 5) parts.push((await bytes.next()).value as Buffer);
  const sixth = bytes.next();
  more.resolve();
  parts.push((await sixth).value as Buffer);
  await settled();
  jest.advanceTimersByTime(29_999);
  await settled();
  // Six were read, three wait, and one is in hand.
  expect(state.given).toBe(10);
  jest.advanceTimersByTime(1);
  await state.ended;
  expect(await rest(bytes, ...parts)).toEqual(all);
});

test('what fails is told at once', async () => {
  const { state, source } = sourceOf(50, { fails: new Error('the rows are damaged') });
  const bytes = readAhead(source, never, options());
  await bytes.next();
  await state.ended;
  await settled();
  await expect(bytes.next()).rejects.toThrow('the rows are damaged');
});

test('a reader that leaves stops the source', async () => {
  const { state, source } = sourceOf(50, { stop: 15 });
  const { folder, ...limits } = options({ fileBytes: 10 * PART });
  for await (const _ of readAhead(source, never, { folder, ...limits })) {
    await state.stopped;
    break;
  }
  await state.ended;
  expect([state.signal.aborted, state.given]).toEqual([true, 15]);
  expect(readdirSync(folder)).toEqual([]);
});
