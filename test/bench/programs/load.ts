/** Sends requests as fast as they are answered, in turns those that it was given, and prints how many a second were. */
import autocannon from 'autocannon';
import { input, tell } from '../program.ts';

interface Input {
  readonly url: string;
  readonly requests: autocannon.Request[];
  readonly seconds: number;
}

const { url, requests, seconds } = input as Input;
const result = await autocannon({ url, requests, duration: seconds, idReplacement: true });
const { errors, non2xx, duration, latency } = result;
if (errors + non2xx > 0) throw new Error(`${errors} requests failed, ${non2xx} were refused`);
tell({ perSecond: result['2xx'] / duration, p99: latency.p99 });
