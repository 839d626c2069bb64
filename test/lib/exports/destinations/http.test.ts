import type { Delivery } from '../../../../lib/exports/destinations/destination.ts';
import { http } from '../../../../lib/exports/destinations/http.ts';
import { runStep } from '../../../../lib/exports/resource/test-steps.ts';
import { traceOf } from '../../../../lib/http/trace.ts';
import { Permanent, Transient } from '../../../../lib/ports/errors.ts';
import { testContext } from '../../../support/context.ts';
import { atOnce, delivery, lines, PLAIN } from '../../../support/delivery.ts';
import { SWITCH_OF_PROTOCOLS, startRawServer } from '../../../support/raw-server.ts';
import { type Receiver, type Reply, startReceiver } from '../../../support/receiver.ts';

const ROW = { r: expect.any(String) };
const TOKEN = 'phc_"quoted" secret';
const ANYWHERE = { privateAddresses: true, folderRoots: null, dataDirectory: null };

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.reset());
afterAll(() => receiver.close());

/** A delivery with what it said and how long it waited, whose tries take no time; the note is kept over its attempts. */
function given(count: number, changes: Partial<Delivery> = {}) {
  const said: string[] = [];
  const waited: number[] = [];
  return {
    ...delivery(http, { url: `${receiver.url}/batch/`, token: TOKEN }, count),
    say: (level: string, message: string) => void said.push(`${level} ${message}`),
    pause: async (milliseconds: number) => void waited.push(milliseconds),
    clock: () => 0,
    said,
    waited,
    ...changes,
  } as Parameters<typeof http.deliver>[0] & { said: string[]; waited: number[] };
}

interface Body {
  api_key: string;
  historical_migration: boolean;
  batch: unknown[];
}

const bodies = (): Body[] => receiver.received.map(({ body }) => JSON.parse(body) as Body);
/** All events that were sent, as lines again. */
const sent = (): string =>
  receiver.received
    .map(({ body }) => `${body.slice(body.indexOf('[') + 1, -2).trimEnd()}\n`.replaceAll('},{', '}\n{'))
    .join('');
const sizes = (): number[] => bodies().map(({ batch }) => batch.length);
const keys = (): unknown[] => receiver.received.map(({ headers }) => headers['idempotency-key']);
/** Answers each request by its number, from 1; those that are not named are fine. */
const answering = (replies: Readonly<Record<number, Reply>>): void => {
  receiver.answer = (_request, n) => (n in replies ? (replies[n] as Reply) : { status: 200 });
};

describe('a delivery', () => {
  test('posts batches as capture takes them, packed by gzip', async () => {
    const one = given(3);
    const prepared = await http.deliver(one);
    expect(receiver.received).toMatchObject([
      {
        method: 'POST',
        path: '/batch/',
        headers: {
          'content-type': 'application/json',
          'content-encoding': 'gzip',
          'idempotency-key': `${one.runId}-0`,
          traceparent: traceOf(one.runId).parent,
          'content-length': String(prepared.receipt.bytes),
        },
      },
    ]);
    expect(bodies()).toEqual([{ api_key: TOKEN, historical_migration: true, batch: [ROW, ROW, ROW] }]);
    expect(sent()).toBe((await atOnce(lines(3))).toString());
  });

  test('cuts batches of 5,000 events, in order, each with a key of its own', async () => {
    const one = given(12_001);
    await http.deliver(one);
    expect(sizes()).toEqual([5000, 5000, 2001]);
    expect(sent() === (await atOnce(lines(12_001))).toString()).toBe(true);
    expect(keys()).toEqual([0, 1, 2].map((n) => `${one.runId}-${n}`));
  });

  test('asks for the columns of an event, and for no others', async () => {
    const asked: unknown[] = [];
    const rows: Delivery['rows'] = (form) => {
      asked.push(
        form.format,
        form.columns.map(({ name }) => name),
      );
      return lines(1);
    };
    await http.deliver(given(1, { rows }));
    expect(asked).toEqual(['JSONLines', ['uuid', 'distinct_id', 'timestamp', 'event', 'properties']]);
  });

  test('cuts batches of 50 MB before compression; an event that is larger goes alone', async () => {
    const big = (bytes: number) => Buffer.from(`{"x":"${'x'.repeat(bytes - 9)}"}\n`);
    const rows = async function* () {
      for (const megabytes of [20, 30, 1, 60, 2, 2]) yield big(megabytes * 1_000_000);
    };
    await http.deliver(given(0, { rows }));
    expect(sizes()).toEqual([2, 1, 1, 2]);
  });

  test.each([1, 126, 127, 4_000, 10_000_000])('cuts the same batches from pieces of %d bytes or so', async (size) => {
    const all = await atOnce(lines(10_500));
    const rows = async function* () {
      for (let from = 0; from < all.length; ) {
        // Pieces are of whole lines.
        const to = all.indexOf('\n', Math.min(from + size - 1, all.length - 1)) + 1;
        yield all.subarray(from, to);
        from = to;
      }
    };
    await http.deliver(given(0, { rows }));
    expect(sizes()).toEqual([5000, 5000, 500]);
    expect(sent() === (await atOnce(lines(10_500))).toString()).toBe(true);
  });

  test('of no rows sends nothing', async () => {
    expect(await http.deliver(given(0))).toEqual({ receipt: { bytes: 0 } });
    expect(receiver.received).toEqual([]);
  });

  test('that breaks while it is read has sent what came before, and no more', async () => {
    const rows = async function* () {
      yield* lines(5001);
      throw new Transient('The lake is away.');
    };
    await expect(http.deliver(given(0, { rows }))).rejects.toThrow('The lake is away.');
    expect(sizes()).toEqual([5000]);
  });
});

describe('a receiver that is busy', () => {
  test('is given the time that it asks for, in seconds or as an instant of its own clock', async () => {
    answering({
      1: { status: 429, headers: { 'retry-after': '7' }, body: 'Slow down' },
      2: {
        status: 503,
        headers: { 'retry-after': 'Tue, 06 Jan 2026 10:00:20 GMT', date: 'Tue, 06 Jan 2026 10:00:00 GMT' },
      },
      // At once is not sooner than a second from now.
      3: { status: 503, headers: { 'retry-after': '0' } },
    });
    const one = given(3);
    await http.deliver(one);
    expect(one.waited).toEqual([7000, 20_000, 1000]);
    expect(one.said).toEqual([
      `WARNING ${receiver.url}/batch/ answered 429: Slow down. Trying again in 7 s.`,
      `WARNING ${receiver.url}/batch/ answered 503. Trying again in 20 s.`,
      `WARNING ${receiver.url}/batch/ answered 503. Trying again in 1 s.`,
    ]);
    expect(new Set(keys())).toEqual(new Set([`${one.runId}-0`]));
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  });

  test.each([408, 425, 429, 500, 502, 503, 504, 529])(
    'is asked again after %d, later each time, then left to a later attempt',
    async (status) => {
      receiver.answer = () => ({ status });
      const one = given(3);
      await expect(http.deliver(one)).rejects.toEqual(new Transient(`${receiver.url}/batch/ answered ${status}.`));
      expect(one.waited).toEqual([1000, 2000, 4000, 8000, 16_000, 29_000]);
    },
  );

  test('that drops events for its quota, with a status of success, is asked again', async () => {
    answering({ 1: { status: 200, body: '{"status": 1, "quota_limited": ["recordings", "events"]}' } });
    const one = given(1);
    await http.deliver(one);
    expect(receiver.received).toHaveLength(2);
    expect(one.said).toEqual([
      `WARNING ${receiver.url}/batch/ answered 200 and dropped the events: its quota is used up (quota_limited). Trying again in 1 s.`,
    ]);
  });

  test.each(['{"status": 1}', '{"status": 1, "quota_limited": ["recordings"]}', '<p>"quota_limited"'])(
    'or not, and answers %s, has accepted them',
    async (body) => {
      answering({ 1: { status: 200, body } });
      await http.deliver(given(1));
      expect(receiver.received).toHaveLength(1);
    },
  );

  test.each(['soon', '-1', '1.5', ''])(
    "that asks to be asked again '%s' is asked again as if it had not",
    async (asked) => {
      answering({ 1: { status: 503, headers: { 'retry-after': asked } } });
      const one = given(3);
      await http.deliver(one);
      expect(one.waited).toEqual([1000]);
    },
  );

  test.each(['61', '3600'])('that asks for %s seconds is left to a later attempt at once', async (asked) => {
    receiver.answer = () => ({ status: 429, headers: { 'retry-after': asked } });
    const one = given(3);
    await expect(http.deliver(one)).rejects.toThrow(Transient);
    expect(one.waited).toEqual([]);
    expect(receiver.received).toHaveLength(1);
  });

  test('that takes one batch a minute, and says so, is waited for in each of the five minutes of a delivery', async () => {
    let [now, isFreeAt] = [0, 0];
    const one = given(40_000, {
      clock: () => now,
      pause: async (milliseconds) => void (now += milliseconds),
    });
    receiver.answer = () => {
      now += 40;
      if (now < isFreeAt) return { status: 429, headers: { 'retry-after': '60' } };
      isFreeAt = now + 60_000;
      return { status: 200 };
    };
    await expect(http.deliver(one)).rejects.toMatchObject({ name: 'Transient', isPartial: true });
    expect(await one.kept()).toMatchObject({ batches: 6, events: 30_000 });
    await http.deliver(one);
    expect(sizes()).toHaveLength(16);
    expect(new Set(keys()).size).toBe(8);
  });

  test('that asks for a little time again and again for one batch is waited for, too, for five minutes', async () => {
    receiver.answer = () => ({ status: 503, headers: { 'retry-after': '30' } });
    const one = given(3);
    await expect(http.deliver(one)).rejects.toMatchObject({ name: 'Transient', isPartial: false });
    expect(one.waited).toEqual(Array(10).fill(30_000));
  });

  test('uses up the waiting of one delivery, whichever batches it is for', async () => {
    receiver.answer = (_request, n) =>
      n % 2 === 1 ? { status: 503, headers: { 'retry-after': '55' } } : { status: 200 };
    const one = given(40_000);
    await expect(http.deliver(one)).rejects.toThrow(Transient);
    expect(one.waited).toEqual([55_000, 55_000, 55_000, 55_000, 55_000]);
    expect(await one.kept()).toMatchObject({ batches: 5, events: 25_000 });
  });

  test.each([
    [60_000, []],
    [20_000, [1000, 2000]],
  ])('is given up after a minute, which tries that fail in %d ms are a part of', async (taken, waits) => {
    let now = Date.now();
    receiver.answer = () => {
      now += taken;
      return { status: 503 };
    };
    const one = given(3, { clock: () => now });
    await expect(http.deliver(one)).rejects.toThrow(Transient);
    expect(one.waited).toEqual(waits);
  });

  test('that hangs up, or is not there, is asked again', async () => {
    const gone = await startReceiver();
    await gone.close();
    const config = { url: gone.url, token: TOKEN };
    const one = given(3, { config });
    await expect(http.deliver(one)).rejects.toThrow(/^Could not reach 127\.0\.0\.1:\d+: connect ECONNREFUSED/);
    expect(one.waited).toHaveLength(6);
  });
});

describe('a receiver that takes no large requests', () => {
  const atMost = (most: number): void => {
    receiver.answer = ({ body }) => ({ status: (JSON.parse(body) as Body).batch.length > most ? 413 : 200 });
  };

  test('is sent halves, as often as it takes, and each event once', async () => {
    atMost(2000);
    await http.deliver(given(5001));
    expect(sizes()).toEqual([5000, 2500, 1250, 1250, 2500, 1250, 1250, 1]);
    const taken = receiver.received.filter(({ body }) => (JSON.parse(body) as Body).batch.length <= 2000);
    const events = taken.flatMap(({ body }) => (JSON.parse(body) as Body).batch);
    expect(events).toEqual(
      (await atOnce(lines(5001)))
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
    expect(new Set(taken.map(({ headers }) => headers['idempotency-key'])).size).toBe(5);
  });

  test('is sent the same halves by another attempt', async () => {
    atMost(2500);
    const one = given(5000);
    const mortal = { ...one, keep: () => Promise.reject(new Error('The process is dead.')) };
    await expect(http.deliver(mortal)).rejects.toThrow('dead');
    await http.deliver(one);
    const asSent = receiver.received.map(({ headers, body }) => [headers['idempotency-key'], body]);
    expect(asSent).toHaveLength(6);
    expect(asSent.slice(3)).toEqual(asSent.slice(0, 3));
  });

  test('is told of with all that it has accepted', async () => {
    receiver.answer = (_request, n) => ({ status: [200, 413, 200, 400][n - 1] ?? 200 });
    await expect(http.deliver(given(5004))).rejects.toThrow(
      'Check url and token. 5,002 events had been accepted before.',
    );
    expect(sizes()).toEqual([5000, 4, 2, 2]);
  });

  test('not even of one event is for the customer to mend', async () => {
    atMost(0);
    await expect(http.deliver(given(2))).rejects.toThrow(
      `${receiver.url}/batch/ answered 413. It takes no request of this size, though it holds one event: raise its limit.`,
    );
    expect(sizes()).toEqual([2, 1]);
  });
});

describe('a receiver that refuses', () => {
  test.each([
    [400, 'Invalid payload.', ': Invalid payload. Check url and token.'],
    [401, '{"detail":"wrong token"}', ': {"detail":"wrong token"}. Check url and token.'],
    [403, '', '. Check url and token.'],
    [404, '<h1>Not\n\r found</h1>\0', ': <h1>Not found</h1>. Check url and token.'],
    [410, 'x'.repeat(1000), `: ${'x'.repeat(200)}. Check url and token.`],
    [405, `You sent ${TOKEN}!`, ': You sent ***! Check url and token.'],
    [405, JSON.stringify({ sent: TOKEN }), ': {"sent":"***"}. Check url and token.'],
    [405, `/batch/?token=${encodeURIComponent(TOKEN)}`, ': /batch/?token=***. Check url and token.'],
  ])('with %d fails the run at once, in its own words', async (status, body, message) => {
    receiver.answer = () => ({ status, body });
    const one = given(3);
    const failure = http.deliver(one);
    await expect(failure).rejects.toEqual(new Permanent(`${receiver.url}/batch/ answered ${status}${message}`));
    expect(receiver.received).toHaveLength(1);
    expect(one.waited).toEqual([]);
  });

  test.each([301, 302, 303, 307, 308])('with %d is not followed anywhere', async (status) => {
    const location = `${receiver.url}/other?token=${TOKEN}`;
    answering({ 1: { status, headers: { location } } });
    await expect(http.deliver(given(3))).rejects.toEqual(
      new Permanent(
        `${receiver.url}/batch/ answered ${status}, a redirect to ${receiver.url}/other?token=***. ` +
          'Redirects are not followed: set url to the right address.',
      ),
    );
    expect(receiver.received).toHaveLength(1);
  });

  test('with a switch of protocols ends the delivery at once', async () => {
    const raw = await startRawServer();
    try {
      void raw.reply(SWITCH_OF_PROTOCOLS, { keepsOpen: true });
      const one = given(3, { config: { url: raw.url, token: TOKEN } });
      await expect(http.deliver(one)).rejects.toEqual(new Permanent(`${raw.url} answered 101. Check url and token.`));
      expect(one.waited).toEqual([]);
    } finally {
      await raw.close();
    }
  });

  test.each([300, 304])('with %d and no other address is not told of as a redirect', async (status) => {
    receiver.answer = () => ({ status });
    await expect(http.deliver(given(3))).rejects.toEqual(
      new Permanent(`${receiver.url}/batch/ answered ${status}. Check url and token.`),
    );
  });

  test('in the middle is told of with what it has accepted before', async () => {
    answering({ 3: { status: 400, body: 'No more!' } });
    await expect(http.deliver(given(12_001))).rejects.toEqual(
      new Permanent(
        `${receiver.url}/batch/ answered 400: No more! Check url and token. 10,000 events had been accepted before.`,
      ),
    );
  });
});

describe('another attempt', () => {
  test('goes on after the last batch that was accepted, and counts the bytes of all', async () => {
    const whole = await http.deliver(given(12_001));
    receiver.reset();
    answering({ 3: { status: 400 } });
    const one = given(12_001);
    await expect(http.deliver(one)).rejects.toThrow(Permanent);
    answering({});
    expect(await http.deliver(one)).toEqual(whole);
    expect(sizes()).toEqual([5000, 5000, 2001, 2001]);
    expect(keys()).toEqual([0, 1, 2, 2].map((n) => `${one.runId}-${n}`));
  });

  test('after all has been accepted sends nothing', async () => {
    const one = given(12_001);
    const first = await http.deliver(one);
    expect(await http.deliver(one)).toEqual(first);
    expect(receiver.received).toHaveLength(3);
  });

  test.each([1, 2, 3])(
    'after a death between answer and note of batch %d sends that batch again, the same bytes, and no other',
    async (dies) => {
      const one = given(12_001);
      let notes = 0;
      const mortal = {
        ...one,
        keep: (note: unknown) => {
          notes += 1;
          return notes === dies ? Promise.reject(new Error('The process is dead.')) : one.keep(note);
        },
      };
      await expect(http.deliver(mortal)).rejects.toThrow('dead');
      expect(sizes()).toEqual([5000, 5000, 2001].slice(0, dies));
      await http.deliver(one);
      const expected = [0, 1, 2].flatMap((n) => (n === dies - 1 ? [n, n] : [n]));
      expect(keys()).toEqual(expected.map((n) => `${one.runId}-${n}`));
      expect(receiver.received[dies]?.body).toBe(receiver.received[dies - 1]?.body);
    },
  );
});

describe('a cancel', () => {
  test('ends a request that is under way, and what was accepted stays', async () => {
    const stop = new AbortController();
    receiver.answer = (_request, n) => {
      if (n < 2) return { status: 200 };
      stop.abort(new Error('cancelled'));
      return null;
    };
    await expect(http.deliver(given(12_001, { signal: stop.signal }))).rejects.toThrow('cancelled');
    expect(sizes()).toEqual([5000, 5000]);
  });

  test('ends a wait', async () => {
    const stop = new AbortController();
    receiver.answer = () => ({ status: 503 });
    const pause = () => {
      stop.abort(new Error('cancelled'));
      return Promise.reject(stop.signal.reason as Error);
    };
    await expect(http.deliver(given(3, { signal: stop.signal, pause }))).rejects.toThrow('cancelled');
    expect(receiver.received).toHaveLength(1);
  });
});

describe('a config', () => {
  const checked = (config: object, model: 'events' | 'persons' = 'events', reach = ANYWHERE) => {
    const full = http.config.parse({ url: 'https://app.example.org/batch/', token: 't', ...config });
    return () => http.check(full as { url: string; token: string }, model, reach);
  };

  test('that is right says nothing', () => {
    expect(checked({})).not.toThrow();
    expect(checked({ url: 'http://127.0.0.1:1/x' })).not.toThrow();
  });

  test.each([
    [{}, 'persons', null, 'HTTP batch exports only support the events model'],
    [{ url: '' }, 'events', 'destination', "The following inputs are empty: ['url']"],
    [{ url: ' ', token: '' }, 'events', 'destination', "The following inputs are empty: ['url', 'token']"],
    [{ url: 'ftp://x.org' }, 'events', 'destination', "'ftp://x.org' is not a valid address"],
    [{ url: 'https://u:p@x.org' }, 'events', 'destination', 'An address may not hold a user name'],
  ] as const)('of %j for %s is refused', (config, model, attr, detail) => {
    expect(checked(config, model)).toThrow(
      expect.objectContaining({
        status: 400,
        body: expect.objectContaining({ attr, detail: expect.stringContaining(detail) }),
      }),
    );
  });

  test('may name a private address only where a deployment allows it', () => {
    const closed = { privateAddresses: false, folderRoots: null, dataDirectory: null };
    expect(checked({ url: 'http://169.254.169.254/latest' }, 'events', closed)).toThrow('is not public');
  });
});

describe('the connection check', () => {
  const check = async () => {
    const context = testContext();
    const config = { url: receiver.url, token: TOKEN };
    const { result } = await runStep(
      context,
      { planned: PLAIN, destination: http, config, reach: ANYWHERE },
      { organization: 'acme', user: 'ada' },
    );
    return result;
  };

  test('posts a batch without events, with the token', async () => {
    expect(await check()).toEqual({ status: 'Passed', message: null });
    expect(bodies()).toEqual([{ api_key: TOKEN, historical_migration: true, batch: [] }]);
  });

  test.each([400, 422])('is passed by a receiver that has read it and wants events (%d)', async (status) => {
    receiver.answer = () => ({ status });
    expect(await check()).toEqual({ status: 'Passed', message: null });
  });

  test.each([401, 404, 302, 429, 500])('is failed by a receiver that answers %d', async (status) => {
    receiver.answer = () => ({ status });
    const result = await check();
    expect(result).toMatchObject({ status: 'Failed' });
    expect(result?.message).toContain(`${receiver.url} answered ${status}`);
  });
});
