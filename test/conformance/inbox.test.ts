import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { PutRecordCommand } from '@aws-sdk/client-firehose';
import * as fc from 'fast-check';
import { v7 } from 'uuid';
import { MIB, MINUTE_MS, SECOND_MS } from '../../lib/basics/units.ts';
import { Transient } from '../../lib/ports/errors.ts';
import { folderFiles } from '../../lib/ports/files/folder.ts';
import { firehoseInbox } from '../../lib/ports/inbox/firehose.ts';
import { damagedSegments, folderInbox } from '../../lib/ports/inbox/folder.ts';
import { frameOf } from '../../lib/ports/inbox/frame.ts';
import { type CapturedRequest, type Inbox, InboxClosed, SegmentUnreadable } from '../../lib/ports/inbox/inbox.ts';
import { START, temporaryFolder } from '../support/context.ts';
import { failFileCalls, fileCallsOf, watchFileCalls } from '../support/file-calls.ts';
import { onEnd } from '../support/on-end.ts';
import { propertyRuns } from '../support/property-runs.ts';

const request = (id: string, body: string | Uint8Array = `body of ${id}`): CapturedRequest => ({
  id,
  projectId: 7,
  receivedAt: START,
  path: '/batch',
  query: { compression: 'gzip-js' },
  address: '203.0.113.7',
  body: Buffer.from(body),
});

/** An inbox that ends after the tests. */
async function openInbox(folder: string): Promise<Inbox> {
  const inbox = await folderInbox(folder);
  onEnd(() => inbox.close());
  return inbox;
}

/** All requests of all segments, in order. */
async function requestsIn(inbox: Inbox): Promise<CapturedRequest[]> {
  const requests: CapturedRequest[] = [];
  for (const { name } of await inbox.segments()) requests.push(...(await inbox.read(name)).requests);
  return requests.map((one) => ({ ...one, body: Buffer.from(one.body) }));
}

const idsIn = async (inbox: Inbox): Promise<string[]> => (await requestsIn(inbox)).map(({ id }) => id);

/** What every inbox promises. */
function inboxCases(open: () => Promise<Inbox>): void {
  test('gives back what was appended, whole and in order', async () => {
    const inbox = await open();
    const bytes = request(
      'bytes',
      Uint8Array.from({ length: 256 }, (_, n) => n),
    );
    await inbox.append(request('a'));
    await inbox.append(bytes);
    await inbox.append(request('nothing', ''));
    await inbox.append(request('ü \u0000 ,"'));
    const withHeaders = { ...request('headers'), headers: { authorization: 'Bearer phc_1' } };
    await inbox.append(withHeaders);
    expect(await requestsIn(inbox)).toEqual([
      request('a'),
      bytes,
      request('nothing', ''),
      request('ü \u0000 ,"'),
      withHeaders,
    ]);
  });

  test('has nothing where nothing was appended', async () => {
    expect(await (await open()).segments()).toEqual([]);
  });

  test('a segment that was listed grows no more', async () => {
    const inbox = await open();
    await inbox.append(request('a'));
    const [first] = await inbox.segments();
    await inbox.append(request('b'));
    expect(await inbox.read(first?.name ?? '')).toMatchObject({ requests: [{ id: 'a' }] });
    expect((await inbox.segments()).map(({ name }) => name)).toEqual([first?.name, expect.any(String)]);
    expect(await idsIn(inbox)).toEqual(['a', 'b']);
  });

  test('has everything that comes at any moment for whoever reads and removes all that is listed', async () => {
    const inbox = await open();
    const sent = 300;
    const taken: string[] = [];
    const take = async (): Promise<void> => {
      const names = (await inbox.segments()).map(({ name }) => name);
      for (const name of names) taken.push(...(await inbox.read(name)).requests.map(({ id }) => id));
      await inbox.remove(names);
    };
    const over = new AbortController();
    const sending = (async () => {
      for (let n = 0; n < sent; n += 1) {
        await inbox.append(request(String(n)));
        for (let turns = n % 7; turns > 0; turns -= 1) await setImmediate();
      }
      over.abort();
    })();
    while (!over.signal.aborted) await take();
    await sending;
    await take();
    expect(taken.map(Number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: sent }, (_, n) => n));
  });

  test('forgets segments that are removed, and has nothing in them when they are gone', async () => {
    const inbox = await open();
    const names: string[] = [];
    for (const id of ['a', 'b']) {
      await inbox.append(request(id));
      names.push(...(await inbox.segments()).map(({ name }) => name));
    }
    await inbox.append(request('c'));
    await inbox.remove([...new Set(names)]);
    await inbox.remove([...new Set(names)]);
    await inbox.remove([]);
    expect(await idsIn(inbox)).toEqual(['c']);
    expect(await inbox.read(names[0] ?? '')).toEqual({ requests: [], damaged: 0, unfinished: 0 });
  });

  test('does not give again what was set aside', async () => {
    const inbox = await open();
    await inbox.append(request('a'));
    const [first] = await inbox.segments();
    await inbox.setAside(first?.name ?? '');
    expect(await inbox.segments()).toEqual([]);
  });

  test('takes many at once', async () => {
    const inbox = await open();
    const ids = Array.from({ length: 300 }, (_, n) => `request ${n}`);
    await Promise.all(ids.map((id) => inbox.append(request(id))));
    expect((await idsIn(inbox)).toSorted()).toEqual(ids.toSorted());
  });

  test('takes nothing when it is closed, and says so', async () => {
    const inbox = await open();
    const last = inbox.append(request('a'));
    await inbox.close();
    await last;
    await expect(inbox.append(request('b'))).rejects.toThrow(InboxClosed);
  });
}

describe('an inbox behind a delivery stream', () => {
  /** A stream that writes each record by itself, and what it shall do with the next one. */
  function opened(
    next: (data: Buffer) => Promise<unknown> | undefined = () => undefined,
    clock: () => number = Date.now,
  ) {
    const files = folderFiles(temporaryFolder());
    const [records, warnings]: [string[], unknown[]] = [[], []];
    const inbox = firehoseInbox({
      client: {
        send: async ({ input }: PutRecordCommand) => {
          const data = Buffer.from(input.Record?.Data ?? '');
          await next(data);
          records.push(`segments/${String(records.length).padStart(9, '0')}`);
          await files.write(records.at(-1) ?? '', data);
        },
      } as never,
      stream: 'inbox',
      files,
      newId: v7,
      clock,
      log: { warning: (message) => warnings.push(message) },
    });
    return { inbox, files, records, warnings };
  }

  inboxCases(async () => opened().inbox);

  test('reads what the stream has written together, and twice', async () => {
    const { inbox, files } = opened();
    const frames = [request('a'), request('b'), request('a')].map(frameOf);
    await files.write('segments/2026/01/01/00/x', Buffer.concat(frames));
    expect(await idsIn(inbox)).toEqual(['a', 'b', 'a']);
  });

  test('keeps past the stream what it does not take, and what is too large for it', async () => {
    const { inbox, files, records, warnings } = opened((data) =>
      data.includes('refused') ? Promise.reject(new Error('ServiceUnavailableException')) : undefined,
    );
    await inbox.append(request('refused'));
    await inbox.append(request('large', Buffer.alloc(1_100_000, 1)));
    await inbox.append(request('small'));
    expect(records).toHaveLength(1);
    expect(warnings).toHaveLength(1);
    expect((await idsIn(inbox)).toSorted()).toEqual(['large', 'refused', 'small']);
    const direct: string[] = [];
    for await (const { path } of files.list('direct/')) direct.push(path);
    expect(direct).toHaveLength(2);
  });

  /** An inbox of which each object was written at its own instant. */
  function openedAt(clock = () => START) {
    const { inbox, files } = opened(undefined, clock);
    return {
      write: async (path: string, at: number) => {
        await files.write(path, '');
        utimesSync(files.address(path), at / SECOND_MS, at / SECOND_MS);
      },
      names: async () => (await inbox.segments()).map(({ name }) => name),
      inbox,
    };
  }

  test('gives what came by the stream and past it in the order in which it was written', async () => {
    const { write, names, inbox } = openedAt();
    await write('direct/b', START - 4 * MINUTE_MS);
    await write('segments/c', START - 3 * MINUTE_MS);
    await write('direct/d', START - 3 * MINUTE_MS + SECOND_MS);
    await write('segments/a', START - 5 * MINUTE_MS);
    expect(await names()).toEqual(['segments/a', 'direct/b', 'segments/c', 'direct/d']);
    expect((await inbox.segments())[0]?.writtenAt).toBe(START - 5 * MINUTE_MS);
  });

  test('a request past the stream waits for what the stream took before, two minutes at most', async () => {
    let now = START;
    const { write, names } = openedAt(() => now);
    await write('segments/before', START - SECOND_MS);
    await write('direct/one', START);
    await write('direct/two', START + SECOND_MS);
    expect(await names()).toEqual(['segments/before']);
    await write('segments/after', START);
    expect(await names()).toEqual(['segments/before', 'direct/one', 'segments/after']);
    now += 2 * MINUTE_MS;
    expect(await names()).toEqual(['segments/before', 'direct/one', 'segments/after']);
    now += SECOND_MS;
    expect(await names()).toEqual(['segments/before', 'direct/one', 'segments/after', 'direct/two']);
  });

  test('does not say that it keeps what neither takes', async () => {
    const { inbox, files } = opened(() => Promise.reject(new Error('no stream')));
    files.write = () => Promise.reject(new Error('no bucket'));
    await expect(inbox.append(request('a'))).rejects.toThrow('no bucket');
  });

  test('tells what is damaged of a segment', async () => {
    const { inbox, files } = opened();
    const frame = frameOf(request('a'));
    await files.write('segments/x', Buffer.concat([frame, frame.subarray(0, 20)]));
    expect(await inbox.read('segments/x')).toMatchObject({ requests: [{ id: 'a' }], damaged: 20, unfinished: 0 });
  });
});

describe('an inbox in a folder', () => {
  inboxCases(() => openInbox(temporaryFolder()));

  test('is there again when the program starts anew, and goes on behind it', async () => {
    const folder = temporaryFolder();
    await (await openInbox(folder)).append(request('a'));
    const second = await openInbox(folder);
    await second.append(request('b'));
    await second.close();
    expect(await idsIn(await openInbox(folder))).toEqual(['a', 'b']);
  });

  test('keeps all that was set aside, also what was before a restart', async () => {
    const folder = temporaryFolder();
    for (const id of ['a', 'b']) {
      const inbox = await openInbox(folder);
      await inbox.append(request(id));
      for (const { name } of await inbox.segments()) await inbox.setAside(name);
      await inbox.close();
    }
    expect(readdirSync(join(folder, 'damaged'))).toHaveLength(2);
  });

  test('looks once at each segment that waits', async () => {
    const inbox = await openInbox(temporaryFolder());
    await inbox.append(request('a'));
    const before = await inbox.segments();
    await inbox.append(request('b'));
    const calls: string[] = [];
    const { stop } = await watchFileCalls((name) => void calls.push(name));
    expect(await inbox.segments()).toEqual([before[0], expect.objectContaining({ bytes: before[0]?.bytes })]);
    stop();
    expect(calls.filter((name) => name === 'stat')).toHaveLength(1);
  });

  test('brings requests that wait together to the disk together', async () => {
    const inbox = await openInbox(temporaryFolder());
    let calls = 0;
    const { stop } = await watchFileCalls(() => void (calls += 1));
    await Promise.all(Array.from({ length: 100 }, (_, n) => inbox.append(request(`${n}`))));
    stop();
    expect(calls).toBeLessThan(20);
  });

  test('takes nothing while the disk has little room but what landings need, and goes on when it has', async () => {
    let freeMegabytes = 200;
    let looks = 0;
    const inbox = await folderInbox(temporaryFolder(), {
      freeBytes: async () => {
        looks += 1;
        return freeMegabytes * MIB;
      },
    });
    onEnd(() => inbox.close());
    for (let n = 0; n < 10; n += 1) await inbox.append(request(`${n}`));
    // It is not looked at for each request.
    expect(looks).toBe(1);
    freeMegabytes = 99;
    const [segment] = await inbox.segments();
    const name = segment?.name ?? '';
    const told = 'The disk of the service is nearly full: space must be freed there.';
    for (const id of ['a', 'b']) await expect(inbox.append(request(id))).rejects.toThrow(new Transient(told));
    // What it has can still leave it.
    expect((await inbox.read(name)).requests).toHaveLength(10);
    await inbox.remove([name]);
    freeMegabytes = 101;
    await inbox.append(request('c'));
    expect(await idsIn(inbox)).toEqual(['c']);
  });

  test('makes its folder again where that is gone, and keeps what comes then', async () => {
    const folder = join(temporaryFolder(), 'inbox');
    const inbox = await openInbox(folder);
    await inbox.append(request('a'));
    await inbox.segments();
    rmSync(folder, { recursive: true });
    const synced: string[] = [];
    const { stop } = await watchFileCalls((name, paths) => void (name === 'sync' && synced.push(...paths)));
    await inbox.append(request('b'));
    stop();
    expect(synced).toContain(dirname(folder));
    expect(await idsIn(inbox)).toEqual(['b']);
  });

  test('begins another segment when one is large', async () => {
    const inbox = await openInbox(temporaryFolder());
    const large = Buffer.alloc(2.25 * 1024 * 1024);
    for (const id of ['a', 'b', 'c', 'd']) await inbox.append(request(id, large));
    const sizes = (await inbox.segments()).map(({ bytes }) => Math.round(bytes / large.length));
    expect(sizes).toEqual([3, 1]);
  });

  test('lists no segment that is begun while the folder is read', async () => {
    const folder = temporaryFolder();
    const inbox = await openInbox(folder);
    await inbox.append(request('a'));
    // The folder is read only when the next segment is there, or would be by now.
    const { stop } = await watchFileCalls(async (name) => {
      if (name !== 'readdir') return;
      for (let turns = 0; turns < 1_000 && readdirSync(folder).length < 2; turns += 1) await setImmediate();
    });
    const listed = inbox.segments();
    const appended = inbox.append(request('b'));
    await inbox.remove((await listed).map(({ name }) => name));
    stop();
    await appended;
    expect(await idsIn(inbox)).toEqual(['b']);
  });

  test('keeps every acknowledged request, and no half of one, whichever call of the file system is the last', async () => {
    let whole = false;
    let acknowledged: string[] = [];
    for (let last = 1; !whole; last += 1) {
      const folder = temporaryFolder();
      const inbox = await openInbox(folder);
      acknowledged = [];
      const calls = await failFileCalls(last, { andLater: true });
      for (const ids of [['a', 'b'], ['c'], ['d', 'e', 'f']]) {
        const appends = ids.map((id) => inbox.append(request(id)).then(() => acknowledged.push(id)));
        await Promise.allSettled(appends);
        await inbox.segments().catch(() => {});
      }
      calls.stop();
      await inbox.close();
      expect(calls.stillOpen()).toBe(0);
      whole = !calls.hasFailed();
      const kept = await requestsIn(await openInbox(folder));
      expect(kept.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
      expect(kept).toEqual(kept.map(({ id }) => request(id)));
      expect(new Set(kept.map(({ id }) => id)).size).toBe(kept.length);
    }
    expect(acknowledged).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  test('acknowledges a request only once it is on the disk, and so is the name of its segment', async () => {
    const home = temporaryFolder();
    const folder = join(home, 'inbox');
    const names = ['appendFile', 'sync', 'datasync'];
    const inbox = await openInbox(folder);
    const begun = await fileCallsOf(folder, names, () => inbox.append(request('a')));
    const segment = '0000000000000001.inbox';
    expect(begun).toEqual(['sync .', `appendFile ${segment}`, `datasync ${segment}`]);
    const syncing = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const { stop } = await watchFileCalls(async (name) => {
      if (name !== 'datasync') return;
      reached.resolve();
      await syncing.promise;
    });
    let isKept = false;
    const appending = inbox.append(request('b')).then(() => (isKept = true));
    await reached.promise;
    await setImmediate();
    expect(isKept).toBe(false);
    syncing.resolve();
    await appending;
    stop();
  });

  test('brings its own name to the disk, and the new place of what is set aside', async () => {
    const home = temporaryFolder();
    const names = ['sync', 'rename'];
    let inbox: Inbox | undefined;
    const opening = async () => void (inbox = await openInbox(join(home, 'inbox')));
    expect(await fileCallsOf(home, names, opening)).toEqual(['sync .']);
    await inbox?.append(request('a'));
    const [first] = (await inbox?.segments()) ?? [];
    const name = first?.name ?? '';
    expect(await fileCallsOf(join(home, 'inbox'), names, async () => inbox?.setAside(name))).toEqual([
      `rename ${name} damaged/${name}`,
      'sync damaged',
      'sync .',
    ]);
  });

  test.each([
    ['write', 'appendFile'],
    ['sync', 'datasync'],
  ])('keeps what it acknowledges after one %s that failed half way', async (_, failing) => {
    const folder = temporaryFolder();
    const inbox = await openInbox(folder);
    await inbox.append(request('a'));
    let isFailing = true;
    const segment = join(folder, readdirSync(folder)[0] ?? '');
    const { stop } = await watchFileCalls((name) => {
      if (!isFailing || name !== failing) return;
      isFailing = false;
      if (name === 'appendFile') appendFileSync(segment, frameOf(request('b')).subarray(0, 40));
      throw new Error('the call fails');
    });
    await expect(inbox.append(request('b'))).rejects.toThrow('the call fails');
    for (const id of ['c', 'd']) await inbox.append(request(id));
    await inbox.close();
    stop();
    const kept = await idsIn(await openInbox(folder));
    expect(kept.filter((id) => id !== 'b')).toEqual(['a', 'c', 'd']);
  });

  test('leaves out what a write that was cut short has left', async () => {
    const folder = temporaryFolder();
    const inbox = await openInbox(folder);
    await inbox.append(request('a'));
    await inbox.append(request('b'));
    const [name = ''] = readdirSync(folder);
    truncateSync(join(folder, name), frameOf(request('a')).length * 2 - 1);
    expect(await (await openInbox(folder)).read(name)).toMatchObject({
      requests: [{ id: 'a' }],
      damaged: 0,
      unfinished: frameOf(request('b')).length - 1,
    });
  });

  test('says of a segment that the disk cannot read that it is this one, and lists the others', async () => {
    const folder = temporaryFolder();
    const inbox = await openInbox(folder);
    for (const id of ['a', 'b']) {
      await inbox.append(request(id));
      await inbox.segments();
    }
    const [first = '', second = ''] = readdirSync(folder);
    const bad = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    const failing = ['readFile', 'stat'];
    const { stop } = await watchFileCalls((name, [path = '']) => {
      if (failing.includes(name) && basename(path) === first) throw bad;
    });
    const other = await openInbox(folder);
    expect((await other.segments()).map(({ name }) => name)).toEqual([first, second]);
    await expect(other.read(first)).rejects.toThrow(SegmentUnreadable);
    await expect(other.read(first)).rejects.toThrow('The disk of the service gives errors: it must be checked.');
    expect(await other.read(second)).toMatchObject({ requests: [{ id: 'b' }] });
    expect(await damagedSegments(folder)).toEqual([{ path: first, problem: 'the disk cannot read it' }]);
    // Of too many open files none is at fault.
    Object.assign(bad, { code: 'EMFILE' });
    await expect(other.read(first)).rejects.toThrow(bad);
    stop();
  });

  test('tells of every damage to what it has kept, and gives no request that was not', async () => {
    const folder = temporaryFolder();
    const inbox = await openInbox(folder);
    const requests = ['a', 'b', 'c'].map((id) => request(id));
    for (const one of requests) await inbox.append(one);
    await inbox.close();
    const [name = ''] = readdirSync(folder);
    const whole = readFileSync(join(folder, name));
    const bits = fc.nat(whole.length * 8 - 1);
    await fc.assert(
      fc.asyncProperty(bits, async (bit) => {
        const bytes = Buffer.from(whole);
        bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        writeFileSync(join(folder, name), bytes);
        const { requests: found, damaged, unfinished } = await inbox.read(name);
        expect(requests).toEqual(expect.arrayContaining(found.map((one) => ({ ...one, body: Buffer.from(one.body) }))));
        expect(damaged + unfinished).toBeGreaterThan(0);
        expect(damaged > 0 || found.length === requests.length).toBe(true);
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  describe('in a segment whose end a kill has left out', () => {
    async function killed(): Promise<{ readonly inbox: Inbox; readonly file: string; readonly whole: Buffer }> {
      const folder = temporaryFolder();
      const inbox = await openInbox(folder);
      for (const id of ['a', 'b', 'c']) await inbox.append(request(id));
      const [name = ''] = readdirSync(folder);
      return { inbox, file: join(folder, name), whole: readFileSync(join(folder, name)) };
    }

    test('tells of every damage, and takes it for no write that was cut short', async () => {
      const { inbox, file, whole } = await killed();
      await fc.assert(
        fc.asyncProperty(fc.nat(whole.length * 8 - 1), async (bit) => {
          const bytes = Buffer.from(whole);
          bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
          writeFileSync(file, bytes);
          const { requests, damaged } = await inbox.read(basename(file));
          expect(damaged).toBeGreaterThan(0);
          expect(requests.length).toBeLessThan(3);
        }),
        { numRuns: propertyRuns(300) },
      );
    });

    test('tells of bytes that are no request', async () => {
      const { inbox, file, whole } = await killed();
      for (const good of [Buffer.alloc(0), whole]) {
        writeFileSync(file, Buffer.concat([good, Buffer.alloc(70_000, 'noise')]));
        expect(await inbox.read(basename(file))).toMatchObject({ damaged: 70_000, unfinished: 0 });
      }
    });

    // To look into each of them takes minutes.
    test.each([
      ['requests', 'evt\x01\x00\x0f\xff\xff....'],
      ['beginnings of requests', 'evt\x01'],
    ])('takes bytes that look like very many %s for damaged', async (_, one) => {
      const { inbox, file } = await killed();
      const body = Buffer.alloc(8 * MIB, Buffer.from(one, 'latin1'));
      const torn = frameOf(request('a', body)).subarray(0, -1);
      writeFileSync(file, torn);
      expect(await inbox.read(basename(file))).toMatchObject({ damaged: torn.length, unfinished: 0 });
    });

    test('takes the zeros that a power loss leaves, behind what was written or in its place, for no damage', async () => {
      const { inbox, file, whole } = await killed();
      const next = frameOf(request('d', Buffer.alloc(3_000, 'x')));
      for (const written of [0, 1, 4, 6, 11, 12, 500, next.length - 16, next.length - 8, next.length - 1]) {
        for (const zeros of [next.length - written, next.length + 4_096 - written].filter((some) => some >= 16)) {
          const left = Buffer.concat([next.subarray(0, written), Buffer.alloc(zeros)]);
          writeFileSync(file, Buffer.concat([whole, left]));
          const { requests, ...about } = await inbox.read(basename(file));
          expect([written, requests.length, about]).toEqual([written, 3, { damaged: 0, unfinished: left.length }]);
        }
      }
    });

    test('tells of damage before such zeros, and of a damaged request that ends in some', async () => {
      const { inbox, file } = await killed();
      const packed = frameOf(request('d', Buffer.concat([Buffer.alloc(3_000, 'x'), Buffer.alloc(3)])));
      const damaged = Buffer.from(packed);
      damaged.writeUInt8(damaged.readUInt8(200) ^ 1, 200);
      writeFileSync(file, damaged);
      expect(await inbox.read(basename(file))).toMatchObject({ damaged: damaged.length, unfinished: 0 });
      writeFileSync(file, Buffer.concat([damaged, packed, Buffer.alloc(4_096)]));
      const { requests, ...about } = await inbox.read(basename(file));
      expect([requests.length, about]).toEqual([1, { damaged: damaged.length, unfinished: 4_096 }]);
    });

    test.each(['e', 'ev', 'evt\x01', 'en', 'end'])('takes %j for the beginning of a write', async (left) => {
      const { inbox, file, whole } = await killed();
      writeFileSync(file, Buffer.concat([whole, Buffer.from(left)]));
      const { requests, ...about } = await inbox.read(basename(file));
      expect([requests.length, about]).toEqual([3, { damaged: 0, unfinished: left.length }]);
    });
  });

  test('takes nothing out of a body that looks like a request', async () => {
    const folder = temporaryFolder();
    const inbox = await openInbox(folder);
    const forged = frameOf({ ...request('forged'), projectId: 8 });
    await inbox.append(request('a', Buffer.concat([forged, forged])));
    await inbox.close();
    const [name = ''] = readdirSync(folder);
    const bytes = readFileSync(join(folder, name));
    bytes.writeUInt8(0, 0);
    writeFileSync(join(folder, name), bytes);
    expect(await inbox.read(name)).toEqual({ requests: [], damaged: bytes.length - 4, unfinished: 0 });
  });
});
