/** A lake of generated events, one big interval of it delivered to each destination of files; requests meanwhile. */
import { join } from 'node:path';
import { DAY_MS } from '../../lib/basics/units.ts';
import { atLeast, type Bench, count, type Part, type Row, rate } from './bench.ts';
import { backfill, filesOfDay, folderOf, makeExport } from './exports.ts';
import { run, startProgram } from './processes.ts';
import { type Service, startService } from './service.ts';

/** All events arrive on this day, which is the interval. */
const START = Date.UTC(2025, 5, 2);
/** The best of so many rounds counts, for both. */
const ROUNDS = 3;
const MB = 1_000_000;
/** Goals: throughput by the bare pipeline's; resident memory in MB. */
const GOAL = { ratio: { lines: 0.8, parquet: 0.95 }, peakMb: 700, waiting: 3 };
/** Requests a second beside a delivery: what the service answers easily, so that it is waiting that is measured. */
const REQUESTS_PER_SECOND = 100;

/** The destinations, each with the bare pipeline that stands beside it. */
interface Kind {
  readonly what: string;
  readonly destination: object;
  readonly bare: 'lines' | 'parquet';
}

export const exporting: Part = async (bench) => {
  const [few, many] = bench.small ? [200_000, 600_000] : [1_000_000, 10_000_000];
  const bucket = startProgram('bare-bucket.ts', {}, bench);
  const { address } = JSON.parse(await bucket.line('address')) as { address: string };
  // A folder of its own for each service: an export touches no file of another one.
  const linesTo = (folder: string): Kind => ({
    what: 'Folder, gzip',
    destination: folderOf(join(bench.folder, folder)),
    bare: 'lines',
  });
  const others: Kind[] = [
    { what: 'S3, gzip', destination: { type: 'S3', config: bucketConfig(address) }, bare: 'lines' },
    {
      what: 'Folder, Parquet zstd',
      destination: {
        type: 'Folder',
        config: { path: join(bench.folder, 'parquet'), file_format: 'Parquet', compression: 'zstd' },
      },
      bare: 'parquet',
    },
  ];
  const first = await measure(bench, few, [linesTo('few'), ...others], bench.small ? 1 : ROUNDS);
  const second = await measure(bench, many, [linesTo('many')], 1, bench.small ? 3 : 15);
  await bucket.stop();
  return [
    ...first.kinds.map((kind) => throughput(few, kind)),
    ...second.kinds.map((kind) => throughput(many, kind)),
    memory(few, first),
    memory(many, second),
    {
      what: `growth from ${count(few)} to ${count(many)}`,
      measured: `${count(second.peakMb)} MB`,
      peer: `${count(first.peakMb)} MB`,
      ratio: second.peakMb / first.peakMb,
      goal: { text: 'about 1', met: second.peakMb / first.peakMb < 1.15 },
    },
    ...second.waiting,
  ];
};

const bucketConfig = (endpoint_url: string) => ({
  bucket_name: 'exports',
  region: 'us-east-1',
  prefix: 'events',
  aws_access_key_id: 'key',
  aws_secret_access_key: 'secret',
  compression: 'gzip',
  endpoint_url,
});

interface Bare {
  readonly seconds: number;
  readonly bytes: number;
  readonly peakMb: number;
}

interface Measured {
  readonly kind: Kind;
  readonly seconds: number;
  readonly bytes: number;
  readonly bare: Bare;
}

interface AllMeasured {
  readonly kinds: readonly Measured[];
  /** Of the service, whatever it delivered. */
  readonly peakMb: number;
  /** How long requests wait beside a delivery, where that was measured. */
  readonly waiting: readonly Row[];
}

const throughput = (events: number, { kind, seconds, bytes, bare }: Measured): Row => ({
  what: `export, ${kind.what}, ${count(events)} events`,
  measured: rate(events / seconds),
  peer: `bare pipeline ${rate(events / bare.seconds)}`,
  ratio: bare.seconds / seconds,
  goal: atLeast(GOAL.ratio[kind.bare], bare.seconds / seconds),
  note: `${count(bytes / MB)} MB in ${seconds.toFixed(1)} s, bare ${count(bare.bytes / MB)} MB in ${bare.seconds.toFixed(1)} s`,
});

const memory = (events: number, { kinds, peakMb }: AllMeasured): Row => ({
  what: `peak memory, ${count(events)} events`,
  measured: `${count(peakMb)} MB`,
  peer: `${GOAL.peakMb} MB`,
  ratio: peakMb / GOAL.peakMb,
  goal: { text: '< 1', met: peakMb < GOAL.peakMb },
  note: `the bare pipeline has ${count(kinds[0]?.bare.peakMb ?? 0)} MB`,
});

/**
 * Exports the lake over HTTP, and beside it runs the bare pipeline over the same files, in turns. Then, with `seconds`,
 * exports it once more while requests are sent for so long.
 */
async function measure(
  bench: Bench,
  events: number,
  kinds: readonly Kind[],
  rounds: number,
  seconds?: number,
): Promise<AllMeasured> {
  const service = await startService(bench, `export-${events}`);
  bench.say(`generating ${count(events)} events`);
  const { dataDirectory, projectId } = service;
  await run('lake.ts', { dataDirectory, projectId, events, start: START, length: DAY_MS }, bench);
  const files = filesOfDay(service, START);
  const measured: Measured[] = [];
  for (const kind of kinds) {
    const path = await makeExport(service, 'day', kind.destination);
    const ours: number[] = [];
    const theirs: Bare[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      bench.say(`${kind.what}: exporting ${count(events)} events, round ${round} of ${rounds}`);
      ours.push(await backfill(service, path, START, START + DAY_MS, bench));
      const target = join(bench.folder, 'bare');
      const { output, peakMb } = await run('bare-pipeline.ts', { files, target, format: kind.bare }, bench);
      theirs.push({ ...(output as { seconds: number; bytes: number }), peakMb });
    }
    const [bare] = theirs.toSorted((a, b) => a.seconds - b.seconds);
    if (bare === undefined) throw new Error('nothing was measured');
    measured.push({ kind, seconds: Math.min(...ours), bytes: await bytesOf(service, path, events), bare });
  }
  const waiting = seconds === undefined ? [] : [await besideDelivery(bench, service, events, seconds)];
  return { kinds: measured, peakMb: await service.stop(), waiting };
}

/** Measures how long a retrieve takes while all events are delivered, beside the same in a quiet service. */
async function besideDelivery(bench: Bench, service: Service, events: number, seconds: number): Promise<Row> {
  const path = await makeExport(service, 'day', folderOf(join(bench.folder, 'delivered-again')));
  const requests = [{ method: 'GET', path, headers: { Authorization: `Bearer ${service.key}` } }];
  const input = { url: service.address, requests, seconds, perSecond: REQUESTS_PER_SECOND };
  const slowest = async () => ((await run('load.ts', input, bench)).output as { p99: number }).p99;
  bench.say('asking a quiet service');
  await slowest();
  const quiet = await slowest();
  bench.say(`asking while ${count(events)} events are exported`);
  const delivery = backfill(service, path, START, START + DAY_MS, bench);
  const busy = await slowest();
  await delivery;
  return {
    what: `p99 of a retrieve while ${count(events)} events are exported`,
    measured: `${busy} ms`,
    peer: `quiet ${quiet} ms`,
    ratio: busy / quiet,
    goal: { text: `< ${GOAL.waiting}`, met: busy / quiet < GOAL.waiting },
    note: `${REQUESTS_PER_SECOND} requests a second`,
  };
}

/** Returns the bytes that the newest run delivered. Throws when they are not all events. */
async function bytesOf(service: Service, path: string, events: number): Promise<number> {
  const { body } = await service.call('GET', `${path}runs/`);
  const [newest] = body['results'] as { records_completed: number; bytes_exported: number }[];
  if (newest?.records_completed !== events) throw new Error(`the run exported ${newest?.records_completed} events`);
  return newest.bytes_exported;
}
