/** Events sent as SDKs send them: how fast they are acknowledged, how many land, and how soon they can be read. */
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { inboxIn } from '../../infra/local/data/data-stores.ts';
import { DAY_MS, SECOND_MS } from '../../lib/basics/units.ts';
import { atLeast, atMost, type Bench, count, median, type Part, type Row, rate } from './bench.ts';
import { backfill, folderOf, makeExport } from './exports.ts';
import { run, startProgram } from './processes.ts';
import { type Service, startService } from './service.ts';

/** Events of a request, as SDKs on servers send them. */
const BATCH = 50;
/** Requests a second by those of a bare server that unpacks, parses and brings to the disk. */
const GOAL_ACCEPT = 0.5;
/** Events that are acknowledged and in the lake, by the time from the first request until the inbox is empty. */
const GOAL_PER_SECOND = 20_000;
/** So many more are sent that what waits at the end, a fifth of the time at most, is within the goal. */
const OFFERED_PER_SECOND = 24_000;
const GOAL_P99_MS = 50;
const GOAL_MB = 700;
const GOAL_QUERYABLE_MS = 2 * SECOND_MS;
/** Throughput of an export of a day that came in small requests, by that of the same events that came at once. */
const GOAL_EXPORT = 0.8;
const SMALL_REQUESTS = 10_000;
/** Processor time of a landing into the large day, by that of one into the small. */
const GOAL_DAY = 1.1;
const SMALL_DAY = 100_000;
/** All of them arrive on this day, which is the interval. */
const START = Date.UTC(2025, 5, 2);
/** The best of so many exports counts, for both. */
const ROUNDS = 3;

interface Loaded {
  readonly perSecond: number;
  readonly p99: number;
}

export const capturing: Part = async (bench) => [
  ...(await accepting(bench)),
  ...(await sustaining(bench)),
  await askingFor(bench),
  await landingIntoDays(bench),
  await exportingCaptured(bench),
];

async function tokenOf(service: Service): Promise<string> {
  const { body } = await service.call('GET', `/api/projects/${service.projectId}/`);
  return String(body['api_token']);
}

const load = async (bench: Bench, input: object): Promise<Loaded> =>
  (await run('capture-load.ts', input, bench)).output as Loaded;

/** Requests a second that are acknowledged, while the service lands what it has taken. */
async function accepting(bench: Bench): Promise<Row[]> {
  const [warm, seconds] = bench.small ? [1, 3] : [3, 8];
  const rows: Row[] = [];
  for (const [eventsEach, requests] of [
    [BATCH, bench.small ? 1_000 : 4_000],
    [1, bench.small ? 10_000 : 40_000],
  ] as const) {
    const what = eventsEach === 1 ? 'accept, an event a request' : `accept, ${eventsEach} events a request`;
    bench.say(what);
    const service = await startService(bench, `accept-${eventsEach}`);
    const form = { token: await tokenOf(service), requests, eventsEach };
    const loaded = async (url: string): Promise<Loaded> => {
      await load(bench, { ...form, url, seconds: warm });
      return load(bench, { ...form, url, seconds });
    };
    const ours = await loaded(service.address);
    // Else it would go on landing beside the bare server.
    await service.stop();
    const bare = startProgram('bare-capture.ts', { file: join(bench.folder, `bare-${eventsEach}`) }, bench);
    const { address } = JSON.parse(await bare.line('address')) as { address: string };
    const theirs = await loaded(address);
    await bare.stop();
    const ratio = ours.perSecond / theirs.perSecond;
    rows.push({
      what,
      measured: rate(ours.perSecond),
      peer: `bare gunzip, parse, fsync ${rate(theirs.perSecond)}`,
      ratio,
      goal: atLeast(GOAL_ACCEPT, ratio),
      note: `p99 ${ours.p99} ms, bare ${theirs.p99} ms; ours lands them meanwhile`,
    });
  }
  return rows;
}

/** As many events as are to be taken and landed, for a while. Throws when they are not all in the lake, once. */
async function sustaining(bench: Bench): Promise<Row[]> {
  const seconds = bench.small ? 10 : 30;
  const perSecond = OFFERED_PER_SECOND / BATCH;
  const requests = seconds * perSecond;
  const events = requests * BATCH;
  const service = await startService(bench, 'sustain');
  bench.say(`sending ${count(events)} events in ${seconds} s`);
  const form = { url: service.address, token: await tokenOf(service), requests, eventsEach: BATCH };
  const { perSecond: answered, p99 } = await load(bench, { ...form, perSecond });
  const sentSeconds = requests / answered;
  const began = performance.now();
  await landed(bench, service);
  const waited = (performance.now() - began) / SECOND_MS;
  const { dataDirectory, projectId } = service;
  const { output } = await run('lake-rows.ts', { dataDirectory, projectId }, bench);
  const inLake = output as { events: number; files: number };
  if (inLake.events !== events) throw new Error(`of ${events} events ${inLake.events} are in the lake`);
  const peakMb = await service.stop();
  const landedPerSecond = events / (sentSeconds + waited);
  return [
    {
      what: `accept and land ${count(events)} events`,
      measured: rate(landedPerSecond),
      peer: rate(GOAL_PER_SECOND),
      ratio: landedPerSecond / GOAL_PER_SECOND,
      goal: atLeast(1, landedPerSecond / GOAL_PER_SECOND),
      note: `${rate(answered * BATCH)} acknowledged; the last landed ${waited.toFixed(1)} s later; ${inLake.files} files`,
    },
    {
      what: 'p99 of accept meanwhile',
      measured: `${p99} ms`,
      peer: `${GOAL_P99_MS} ms`,
      ratio: p99 / GOAL_P99_MS,
      goal: atMost(1, p99 / GOAL_P99_MS),
    },
    {
      what: 'peak memory, capture',
      measured: `${count(peakMb)} MB`,
      peer: `${GOAL_MB} MB`,
      ratio: peakMb / GOAL_MB,
      goal: { text: '< 1', met: peakMb < GOAL_MB },
    },
  ];
}

/** Resolves when nothing waits in the inbox. */
async function landed({ signal }: Bench, { dataDirectory }: Service): Promise<void> {
  const isWaiting = (): boolean => readdirSync(inboxIn(dataDirectory)).some((name) => name.endsWith('.inbox'));
  while (isWaiting()) await setTimeout(50, undefined, { signal });
}

/** How long after its acknowledgement an event can be read by its uuid. */
async function askingFor(bench: Bench): Promise<Row> {
  const rounds = bench.small ? 5 : 15;
  const service = await startService(bench, 'ask');
  const api_key = await tokenOf(service);
  bench.say('asking for events that were just sent');
  const headers = { Authorization: `Bearer ${service.key}` };
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const uuid = randomUUID();
    const body = JSON.stringify({ api_key, uuid, event: 'paid', distinct_id: 'ada' });
    const answer = await fetch(new URL('/i/v0/e/', service.address), { method: 'POST', body, signal: bench.signal });
    if (!answer.ok) throw new Error(`an event was answered with ${answer.status}: ${await answer.text()}`);
    const began = performance.now();
    const place = new URL(`/api/projects/${service.projectId}/events/${uuid}/`, service.address);
    for (;;) {
      const found = await fetch(place, { headers, signal: bench.signal });
      await found.arrayBuffer();
      if (found.ok) break;
      if (found.status !== 404) throw new Error(`an event was answered with ${found.status}`);
      await setTimeout(50, undefined, { signal: bench.signal });
    }
    took.push(performance.now() - began);
  }
  await service.stop();
  const ms = median(took);
  return {
    what: 'from acknowledged to read by its uuid, median',
    measured: `${count(ms)} ms`,
    peer: `${count(GOAL_QUERYABLE_MS)} ms`,
    ratio: ms / GOAL_QUERYABLE_MS,
    goal: atMost(1, ms / GOAL_QUERYABLE_MS),
    note: `at most ${count(Math.max(...took))} ms of ${rounds}`,
  };
}

/** A landing looks for its events in all that came in two days. */
async function landingIntoDays(bench: Bench): Promise<Row> {
  const [large, events] = bench.small ? [1_000_000, 25_000] : [5_000_000, 100_000];
  bench.say(`landing ${count(events)} events into days of ${count(SMALL_DAY)} and of ${count(large)}`);
  const { output } = await run('landing-into-days.ts', { days: [SMALL_DAY, large], events, rounds: ROUNDS }, bench);
  const { days } = output as { days: { first: number; least: number }[] };
  const [{ least: small } = { least: Number.NaN }, { first, least } = { first: Number.NaN, least: Number.NaN }] = days;
  return {
    what: `processor time: land ${count(events)} events, day of ${count(large)}`,
    measured: `${count(least)} ms`,
    peer: `day of ${count(SMALL_DAY)} ${count(small)} ms`,
    ratio: least / small,
    goal: atMost(GOAL_DAY, least / small),
    note: `the first of a service ${count(first)} ms`,
  };
}

interface CapturedDay {
  readonly filesBefore: number;
  readonly files: number;
  readonly events: number;
}

/** An export of a day that was captured in small requests, joined since, beside one of the same events in one batch. */
async function exportingCaptured(bench: Bench): Promise<Row> {
  const [eventsEach, landings] = bench.small ? [10, 50] : [50, 250];
  const events = SMALL_REQUESTS * eventsEach;
  bench.say(`landing ${count(events)} events in ${landings} landings, and in one`);
  const day = async (name: string, times: number) => {
    const service = await startService(bench, name);
    const { dataDirectory, projectId } = service;
    const form = { requests: SMALL_REQUESTS, eventsEach, start: START, length: DAY_MS, landings: times };
    const { output } = await run('captured-day.ts', { dataDirectory, projectId, ...form }, bench);
    const about = output as CapturedDay;
    if (about.events !== events) throw new Error(`of ${events} events ${about.events} are in the lake`);
    return { service, about, path: await makeExport(service, 'day', folderOf(join(bench.folder, `${name}-files`))) };
  };
  const captured = await day('captured', landings);
  const whole = await day('whole', 1);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 1; round <= ROUNDS; round += 1) {
    bench.say(`exporting ${count(events)} events, round ${round} of ${ROUNDS}`);
    ours.push(await backfill(captured.service, captured.path, START, START + DAY_MS, bench));
    theirs.push(await backfill(whole.service, whole.path, START, START + DAY_MS, bench));
  }
  await captured.service.stop();
  await whole.service.stop();
  const [seconds, peerSeconds] = [Math.min(...ours), Math.min(...theirs)];
  const { filesBefore, files } = captured.about;
  return {
    what: `export a day of ${count(SMALL_REQUESTS)} requests, ${count(events)} events`,
    measured: rate(events / seconds),
    peer: `in one batch ${rate(events / peerSeconds)}`,
    ratio: peerSeconds / seconds,
    goal: atLeast(GOAL_EXPORT, peerSeconds / seconds),
    note: `${filesBefore} files were joined to ${files}`,
  };
}
