/**
 * Sends generated events as SDKs do, packed, as fast as they are answered or so many requests a second. Prints how many
 * requests a second were answered, and how long all but the slowest hundredth took at most, in milliseconds.
 */
import { hash, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import autocannon from 'autocannon';
import { input, tell } from '../program.ts';

interface Input {
  readonly url: string;
  readonly token: string;
  /** Requests that are made before the first is sent. No event is in two of them. */
  readonly requests: number;
  readonly eventsEach: number;
  /** Sends them for so long, again from the first when all are sent; absent: each once. */
  readonly seconds?: number;
  /** Requests a second; absent: as many as are answered. */
  readonly perSecond?: number;
}

const { url, token, requests, eventsEach, seconds, perSecond } = input as Input;
const CONNECTIONS = 10;

/** An event of about 1 kB as JSON, of 10,000 people. */
const eventOf = (n: number): object => ({
  uuid: randomUUID(),
  event: '$pageview',
  distinct_id: `user-${n % 10_000}`,
  timestamp: new Date().toISOString(),
  properties: {
    $current_url: `https://www.example.com/products/${n % 5_000}?ref=${n}`,
    $session_id: randomUUID(),
    $browser: 'Firefox',
    $screen_width: 800 + (n % 1_200),
    price: n / 100,
    note: hash('sha512', String(n)),
    trail: `/products/${n % 5_000}/reviews `.repeat(20),
  },
});

const bodies = Array.from({ length: requests }, (_, r) => {
  const batch = Array.from({ length: eventsEach }, (_event, e) => eventOf(r * eventsEach + e));
  return gzipSync(JSON.stringify({ api_key: token, batch, sent_at: new Date().toISOString() }), { level: 1 });
});
let sent = 0;
const result = await autocannon({
  url,
  connections: CONNECTIONS,
  ...(seconds === undefined ? { amount: requests } : { duration: seconds }),
  ...(perSecond === undefined ? {} : { overallRate: perSecond }),
  requests: [
    {
      method: 'POST',
      path: '/batch/',
      headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      setupRequest: (request) => ({ ...request, body: bodies[sent++ % requests] ?? '' }),
    },
  ],
});
const { errors, non2xx, duration, latency } = result;
if (errors + non2xx > 0) throw new Error(`${errors} requests failed, ${non2xx} were refused`);
tell({ perSecond: result['2xx'] / duration, p99: latency.p99 });
