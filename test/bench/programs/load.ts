/**
 * Sends requests, in turns those that it was given, as fast as they are answered or so many a second, and prints how many
 * a second were answered, and how long all but the slowest hundredth took at most, in milliseconds.
 */
import autocannon from 'autocannon';
import { input, tell } from '../program.ts';

interface Input {
  readonly url: string;
  readonly requests: autocannon.Request[];
  readonly seconds: number;
  /** Requests a second; absent: as many as are answered. */
  readonly perSecond?: number;
}

const { url, requests, seconds, perSecond } = input as Input;
const rate = perSecond === undefined ? {} : { overallRate: perSecond };
const result = await autocannon({ url, requests, duration: seconds, idReplacement: true, ...rate });
const { errors, non2xx, duration, latency } = result;
if (errors + non2xx > 0) throw new Error(`${errors} requests failed, ${non2xx} were refused`);
tell({ perSecond: result['2xx'] / duration, p99: latency.p99 });
