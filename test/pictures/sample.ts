/** Page views of a small shop of the last days, the same in every run but for the day on which it runs. */
import { DAY_MS, HOUR_MS } from '../../lib/basics/units.ts';

/** One more than the pictures show, whose first day is whole. */
const SAMPLE_DAYS = 31;

const PATHS = ['/', '/', '/', '/prices', '/prices', '/docs', '/blog/hello', '/signup', '/docs/exports', '/about'];
const FROM = ['$direct', '$direct', 'www.google.com', 'www.google.com', 'lobste.rs', 'github.com'];
const BROWSERS = ['Chrome', 'Chrome', 'Chrome', 'Safari', 'Safari', 'Firefox', 'Edge'];
const SYSTEMS = ['Windows', 'Mac OS X', 'iOS', 'Android', 'Linux'];

/** Returns a number below `most` that looks random and is the same in every run. */
function below(most: number, n: number): number {
  const mixed = Math.imul(n ^ (n >>> 15), 0x85ebca6b);
  return ((mixed ^ (mixed >>> 13)) >>> 0) % most;
}

const of = (values: readonly string[], n: number): string => values[below(values.length, n)] ?? '';

/** Returns events as lines of JSON, up to an instant (milliseconds since 1970): more at noon, fewer on weekends. */
export function sampleEvents(until: number): string {
  const lines: string[] = [];
  let n = 1;
  const first = until - SAMPLE_DAYS * DAY_MS;
  for (let at = first; at < until; at += HOUR_MS) {
    const [hour, day] = [new Date(at).getUTCHours(), new Date(at).getUTCDay()];
    const isWeekend = day === 0 || day === 6;
    const usual = 2 + 6 * Math.sin((hour / 24) * Math.PI) + below(4, n);
    const growth = 1 + (at - first) / (SAMPLE_DAYS * DAY_MS);
    const mood = 0.7 + below(60, Math.floor(at / DAY_MS) * 37) / 100;
    const visits = Math.round(usual * growth * mood * (isWeekend ? 0.5 : 1));
    for (let visit = 0; visit < visits; visit += 1) {
      const person = below(900, n * 31);
      const pages = 1 + below(4, n * 7);
      for (let page = 0; page < pages; page += 1) {
        n += 1;
        const path = of(PATHS, n * 13);
        lines.push(
          JSON.stringify({
            event: '$pageview',
            distinct_id: `visitor-${person}`,
            timestamp: new Date(at + below(HOUR_MS, n)).toISOString(),
            properties: {
              $current_url: `https://shop.example${path}`,
              $pathname: path,
              $host: 'shop.example',
              $referring_domain: of(FROM, person * 17),
              $browser: of(BROWSERS, person * 19),
              $os: of(SYSTEMS, person * 23),
              $device_type: person % 3 === 0 ? 'Mobile' : 'Desktop',
              $session_id: `session-${person}-${Math.floor(at / DAY_MS)}`,
            },
          }),
        );
      }
    }
  }
  return lines.join('\n');
}
