/** Requests a second, through the local gateway, with every write on the disk before it is answered. */
import { join } from 'node:path';
import { HOUR_MS } from '../../lib/basics/units.ts';
import { atLeast, type Bench, type Part, type Row, rate } from './bench.ts';
import { backfill, folderOf, makeExport } from './exports.ts';
import { run, startProgram } from './processes.ts';
import { type Service, startService } from './service.ts';

const START = Date.UTC(2024, 0, 1);
const PAGE = 100;
/** Creates go round so many users: each of a user's requests reads all their memberships, and a user makes a hundred. */
const USERS = 2_000;

/**
 * The requests a second of a well-known management API on Node and SQLite on a machine like this one (2 cores), its load
 * generator included; and how many times that is the goal.
 */
const KNOWN = {
  retrieve: { perSecond: 552, times: 10 },
  list: { perSecond: 300, times: 3 },
  create: { perSecond: 286, times: 10 },
  change: { perSecond: 220, times: 10 },
} as const;

interface Load {
  readonly what: string;
  readonly kind: keyof typeof KNOWN;
  /** Sent in turns. */
  readonly requests: readonly Sent[];
  /** Without a goal: shown for comparison. */
  readonly aside?: true;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  /** `[<id>]` in it becomes a text that is new in every request. */
  readonly body?: object;
}

export const requesting: Part = async (bench) => {
  const service = await startService(bench, 'requests');
  const rows: Row[] = [];
  for await (const load of loads(service, bench)) {
    bench.say(load.what);
    rows.push(await measure(bench, service, load));
  }
  await service.stop();
  return rows;
};

/** Yields the loads, each after what it needs was made. */
async function* loads(service: Service, bench: Bench): AsyncGenerator<Load> {
  const { key, dataDirectory, organizationId } = service;
  bench.say(`making users, ${PAGE} organizations and ${PAGE} batch exports`);
  const made = await run('people.ts', { dataDirectory, organizations: PAGE, others: USERS }, bench);
  const { owner, others } = made.output as { owner: string; others: string[] };
  const exports: string[] = [];
  for (let n = 0; n < PAGE; n += 1)
    exports.push(await makeExport(service, 'week', folderOf(join(bench.folder, `${n}`))));

  const organization = `/api/organizations/${organizationId}/`;
  const listOfExports = { method: 'GET', path: `${organization}batch_exports/?limit=${PAGE}`, key };
  const get = (path: string): Sent => ({ method: 'GET', path, key });
  yield { what: 'retrieve an organization', kind: 'retrieve', requests: [get(organization)] };
  yield { what: 'retrieve a batch export', kind: 'retrieve', requests: exports.map(get) };
  yield {
    what: `list ${PAGE} organizations`,
    kind: 'list',
    requests: [{ method: 'GET', path: `/api/organizations/?limit=${PAGE}`, key: owner }],
  };
  yield { what: `list ${PAGE} batch exports`, kind: 'list', requests: [listOfExports] };
  yield {
    what: 'change an organization',
    kind: 'change',
    requests: [{ method: 'PATCH', path: organization, key, body: { name: 'Organization [<id>]' } }],
  };
  yield {
    what: 'change a batch export',
    kind: 'change',
    requests: exports.map((path) => ({ method: 'PATCH', path, key, body: { name: 'Export [<id>]' } })),
  };
  for (const path of exports) await backfill(service, path, START, START + 10 * 168 * HOUR_MS, bench);
  yield { what: `list ${PAGE} batch exports, ten runs each`, kind: 'list', requests: [listOfExports], aside: true };
  yield {
    what: 'create an organization',
    kind: 'create',
    requests: others.map((other) => ({
      method: 'POST',
      path: '/api/organizations/',
      key: other,
      body: { name: 'Organization [<id>]' },
    })),
  };
  // Of many organizations, for one has a few hundred at most.
  const headers = { Authorization: `Bearer ${owner}` };
  const listed = await fetch(new URL(`/api/organizations/?limit=${PAGE}`, service.address), { headers });
  const { results } = (await listed.json()) as { results: readonly { readonly id: string }[] };
  yield {
    what: 'create a batch export',
    kind: 'create',
    requests: results.map(({ id }) => ({
      method: 'POST',
      path: `/api/organizations/${id}/batch_exports/`,
      key: owner,
      body: {
        name: 'Export [<id>]',
        interval: 'week',
        destination: { type: 'Folder', config: { path: '/exports' } },
      },
    })),
  };
}

async function measure(bench: Bench, service: Service, { what, kind, requests, aside }: Load): Promise<Row> {
  const sent = requests.map(({ method, path, key, body }) => ({
    method,
    path,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }));
  const [first] = sent;
  const sample = await fetch(new URL(first?.path ?? '', service.address), { ...first, signal: bench.signal });
  const answer = { status: sample.status, text: await sample.text() };
  if (!sample.ok) throw new Error(`${what} was answered with ${answer.status}: ${answer.text}`);

  const [warm, seconds] = bench.small ? [1, 2] : [4, 6];
  const loaded = async (url: string, time: number) =>
    (await run('load.ts', { url, requests: sent, seconds: time }, bench)).output as { perSecond: number; p99: number };
  await loaded(service.address, warm);
  const ours = await loaded(service.address, seconds);

  const bare = startProgram('bare-server.ts', answer, bench);
  const { address } = JSON.parse(await bare.line('address')) as { address: string };
  const theirs = await loaded(address, bench.small ? 1 : 3);
  await bare.stop();

  const { perSecond, times } = KNOWN[kind];
  const ratio = ours.perSecond / perSecond;
  return {
    what,
    measured: rate(ours.perSecond),
    peer: `known API ${rate(perSecond)}`,
    ratio,
    ...(aside === true ? {} : { goal: atLeast(times, ratio) }),
    note: `p99 ${ours.p99} ms; ${(ours.perSecond / theirs.perSecond).toFixed(2)} of bare node:http, ${rate(theirs.perSecond)}`,
  };
}
