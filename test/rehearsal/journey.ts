/** The first days of a stage: keys, an import, a scheduled export, backfills, and what goes wrong on the way. */
import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { PostHog } from 'posthog-node';
import { v7 } from 'uuid';
import * as admin from '../../lib/admin/commands.ts';
import { silentProgress } from '../../lib/admin/progress.ts';
import { HOUR_MS, MINUTE_MS } from '../../lib/basics/units.ts';
import { lakeDatabases } from '../../lib/lake/databases.ts';
import { s3Files } from '../../lib/ports/files/s3.ts';
import type { Log } from '../../lib/ports/log.ts';
import { CLOUD_SETTINGS } from '../../lib/ports/settings.ts';
import { dynamodbTable } from '../../lib/ports/table/dynamodb.ts';
import { startReceiver } from '../support/receiver.ts';
import { RECEIVERS } from './receivers.ts';
import { operatorClients, type Stage } from './stage.ts';

interface JourneyOptions {
  readonly stage: Stage;
  /** A folder of its own. */
  readonly folder: string;
  readonly short: boolean;
  readonly log: Log;
  /** Runs a step of the way, and tells how long it took. */
  readonly step: (name: string, work: () => Promise<string>) => Promise<void>;
}

interface Run {
  readonly status: string;
  readonly records_completed: number;
  readonly data_interval_start: string;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
}

/** Returns the log of a web server over so many days, with `perHour` lines in each hour. */
function accessLog(from: number, hours: number, perHour: number): string {
  const lines: string[] = [];
  for (let hour = 0; hour < hours; hour += 1) {
    for (let n = 0; n < perHour; n += 1) {
      const [, day, month, year, time] =
        /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(new Date(from + hour * HOUR_MS + n * MINUTE_MS).toUTCString()) ?? [];
      lines.push(
        `83.149.9.${hour % 250} - - [${day}/${month}/${year}:${time} +0000] "GET /articles/${n}.html HTTP/1.1" 200 ${1000 + n} ` +
          `"http://www.semicomplete.com/" "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36"`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Returns the context that the command line has, over the services of a stage. */
function adminContext({ stage, folder, log }: JourneyOptions): admin.AdminContext & { close(): void } {
  const { dynamodb, s3 } = operatorClients(stage);
  const lake = s3Files({ client: s3, bucket: stage.lakeBucket });
  const context = {
    table: dynamodbTable({ client: dynamodb, tableName: stage.tableName, clock: stage.clock.now }),
    lake,
    databases: lakeDatabases(lake),
    runFiles: s3Files({ client: s3, bucket: stage.runFilesBucket }),
    clock: stage.clock.now,
    newId: v7,
    random: randomBytes,
    log,
    settings: CLOUD_SETTINGS,
    folder,
    close: () => {
      dynamodb.destroy();
      s3.destroy();
    },
  };
  return context;
}

export async function journey(options: JourneyOptions): Promise<void> {
  const { stage, folder, short, step } = options;
  const context = adminContext(options);
  const { clock, customer, executions } = stage;
  const PER_HOUR = 10;
  // Two batches of up to 96 intervals; in the short form less than one.
  const hours = short ? 12 : 120;
  const start = Date.UTC(2015, 4, 17);
  let key = '';
  let organizationId = '';
  let projectId = 0;
  let exportId = '';
  /** The hour in which events arrive live. */
  let live = 0;

  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> => {
    const response = await fetch(`${stage.address}${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  const exportsPath = (): string => `/api/projects/${projectId}/batch_exports`;
  /** Returns all of them, which may be more than a page. */
  const runs = async (id = exportId): Promise<Run[]> => {
    const all: Run[] = [];
    for (let path: string | undefined = `${exportsPath()}/${id}/runs`; path !== undefined; ) {
      const { body }: Reply = await call('GET', path);
      all.push(...body.results);
      path = body.next?.split('/dev')[1];
    }
    return all;
  };

  /** Makes something in a list of the project and returns its id. */
  const make = async (list: string, fields: object): Promise<string | number> => {
    const { status, body } = await call('POST', `/api/projects/${projectId}/${list}/`, fields);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  };

  /** Makes an hourly export and returns its id. */
  const create = async (fields: object): Promise<string> =>
    String(await make('batch_exports', { interval: 'hour', ...fields }));

  /** Returns the lines of every delivered object, by its name. */
  const delivered = async (): Promise<Map<string, number>> => {
    const found = new Map<string, number>();
    for (const name of await customer.keys()) {
      const { body } = await customer.read(name);
      const text = name.endsWith('.gz') ? gunzipSync(body) : body;
      found.set(name, text.toString().split('\n').length - 1);
    }
    return found;
  };
  const rowsIn = (files: ReadonlyMap<string, number>): number =>
    [...files.values()].reduce((sum, rows) => sum + rows, 0);

  /** Waits until no execution has anything to do before a later instant. */
  const settle = async (): Promise<void> => {
    await executions.engine.idle();
    await setTimeout(50);
    await executions.engine.idle();
  };

  /**
   * Acts at the first call of a function to AWS of this kind, which is held up meanwhile. The function that it
   * returns resolves, once that is done, to whether there was such a call.
   */
  const atFirst = (caller: string, action: string, act: () => unknown): (() => Promise<boolean>) => {
    let acting: Promise<unknown> | undefined;
    const stop = stage.calls.watch(async (seen) => {
      if (seen.caller !== caller || seen.action !== action) return;
      stop();
      acting = Promise.resolve(act());
      await acting;
    });
    return async () => {
      await acting;
      return acting !== undefined;
    };
  };

  const backfill = async (from: number, to: number, id = exportId): Promise<string> => {
    const range = { start_at: new Date(from).toISOString(), end_at: new Date(to).toISOString() };
    const { status, headers, body } = await call('POST', `${exportsPath()}/${id}/backfill/`, range);
    assert.equal(status, 200, JSON.stringify(body));
    const location = headers.get('location') ?? '';
    assert.ok(location.startsWith(stage.address), `Location is ${location}`);
    return location.split('/dev')[1] ?? '';
  };

  /** Backfills another export, and returns the first of its runs. */
  const backfilled = async (id: string, from: number, to: number): Promise<Run | undefined> => {
    await backfill(from, to, id);
    await settle();
    return (await runs(id))[0];
  };

  await step('a first key', async () => {
    await admin.createUser(context, { email: 'olivia@acme.com', firstName: 'Olivia', lastName: '' });
    const made = await admin.createOrganization(context, { name: 'Acme', owner: 'olivia@acme.com' });
    const { id, project_id } = made.object as { id: string; project_id: number };
    [organizationId, projectId] = [id, project_id];
    const { object } = await admin.createKey(context, { email: 'olivia@acme.com', label: 'First', scopes: ['*'] });
    key = (object as { value: string }).value;
    const { status, body } = await call('GET', '/api/organizations/');
    assert.deepEqual({ status, ids: body.results.map((one: { id: string }) => one.id) }, { status: 200, ids: [id] });
    return `organization ${id}, project ${project_id}`;
  });

  await step('an import into the lake', async () => {
    const file = join(folder, 'access.log');
    writeFileSync(file, accessLog(start, hours, PER_HOUR));
    const { object } = await admin.importFiles(context, { project: projectId }, [file], silentProgress());
    const { added, rejected } = object as { added: number; rejected: number };
    assert.deepEqual({ added, rejected }, { added: hours * PER_HOUR, rejected: 0 });
    return `${added} events of ${hours} hours`;
  });

  await step('an export, with sealed credentials', async () => {
    exportId = await create({ name: 'Events', model: 'events', destination: customer.destination });
    const changed = await call('PATCH', `${exportsPath()}/${exportId}/`, {
      destination: { type: 'S3', config: { prefix: 'acme', compression: 'gzip' } },
    });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    return exportId;
  });

  await step('a scheduled run', async () => {
    live = clock.now() - (clock.now() % HOUR_MS);
    const file = join(folder, 'live.jsonl');
    const lines = Array.from({ length: 25 }, (_, n) => ({
      event: 'paid',
      distinct_id: `user-${n % 5}`,
      timestamp: new Date(clock.now()).toISOString(),
      properties: { amount: n, note: 'ä {try} \u2028', $set: { plan: 'all' } },
    }));
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    // It dies when all is written and nothing is in its place; the run that needs the events finishes the import.
    const died = 'the importer has died';
    const lake = { ...context.lake, move: () => Promise.reject(new Error(died)) };
    await assert.rejects(
      admin.importFiles({ ...context, lake }, { project: projectId }, [file], silentProgress()),
      new RegExp(died),
    );
    // To the end of the hour, and past settling (30 s) and spread (15 minutes at most).
    clock.advance(live + HOUR_MS + 16 * MINUTE_MS - clock.now());
    await stage.tick();
    await settle();
    const [run] = await runs();
    assert.deepEqual([run?.status, run?.records_completed], ['Completed', 25], JSON.stringify(run));
    const files = await delivered();
    assert.deepEqual([...files.values()], [25]);
    return [...files.keys()].join();
  });

  await step(`a backfill of ${hours} hours`, async () => {
    await customer.empty();
    const location = await backfill(start, start + hours * HOUR_MS);
    await settle();
    const { body } = await call('GET', location);
    assert.equal(body.status, 'Completed', JSON.stringify(body));
    const files = await delivered();
    assert.deepEqual([files.size, rowsIn(files)], [hours, hours * PER_HOUR]);
    return `${files.size} objects, ${rowsIn(files)} rows`;
  });

  for (const type of CLOUD_SETTINGS.destinations.filter((one) => one !== 'S3')) {
    await step(`an export to ${type}`, async () => {
      const receive = RECEIVERS[type];
      if (receive === undefined) return 'NOT TRIED: receivers.ts has no server for it';
      const receiver = await receive(stage.certificate);
      try {
        const id = await create({ name: type, model: 'events', destination: receiver.destination });
        const run = await backfilled(id, start, start + HOUR_MS);
        assert.deepEqual([run?.status, run?.records_completed], ['Completed', PER_HOUR], JSON.stringify(run));
        const rows = await receiver.rows();
        assert.ok(rows === null || rows === PER_HOUR, `${rows} rows arrived`);
        return `${PER_HOUR} rows`;
      } finally {
        await receiver.close();
      }
    });
  }

  await step('the persons of an hour', async () => {
    await customer.empty();
    const id = await create({ name: 'Persons', model: 'persons', destination: customer.destination });
    const run = await backfilled(id, live, live + HOUR_MS);
    assert.deepEqual([run?.status, run?.records_completed], ['Completed', 5], JSON.stringify(run));
    assert.deepEqual([...(await delivered()).values()], [5]);
    return '5';
  });

  await step('a query with filters', async () => {
    await customer.empty();
    const id = await create({
      name: 'Chosen',
      model: 'events',
      destination: customer.destination,
      hogql_query: `SELECT upper(event) AS kind, distinct_id AS who, properties.amount AS amount FROM events
        WHERE who != 'user-0'`,
      filters: [{ key: 'amount', operator: 'gte', value: 5, type: 'event' }],
    });
    const run = await backfilled(id, live, live + HOUR_MS);
    // Amounts from 5 to 24, but for those of the first of five users.
    assert.deepEqual([run?.status, run?.records_completed], ['Completed', 16], JSON.stringify(run));
    const [name = ''] = await customer.keys();
    const rows = (await customer.read(name)).body.toString().trim().split('\n');
    const expected = Array.from({ length: 25 }, (_, n) => ({ kind: 'PAID', who: `user-${n % 5}`, amount: `${n}` }));
    assert.deepEqual(
      rows.map((row) => JSON.parse(row) as { amount: string }).toSorted((a, b) => Number(a.amount) - Number(b.amount)),
      expected.filter(({ who, amount }) => who !== 'user-0' && Number(amount) >= 5),
    );
    return `${rows.length} of 25 rows, 3 columns`;
  });

  await step('an alert that fires, and a subscription that is due', async () => {
    const file = join(folder, 'failed.jsonl');
    const timestamp = new Date(clock.now()).toISOString();
    const line = JSON.stringify({ event: 'failed', distinct_id: 'alarm', timestamp });
    writeFileSync(file, `${line}\n`.repeat(3));
    await admin.importFiles(context, { project: projectId }, [file], silentProgress());
    const receiver = await startReceiver();
    const url = `${receiver.url.replace('127.0.0.1', 'hooks.acme.com')}/told`;
    try {
      // It is tried again: the first answer says no.
      receiver.answer = (_request, n) => ({ status: n === 1 ? 503 : 200 });
      const query = {
        kind: 'TrendsQuery',
        series: [{ event: 'failed' }],
        interval: 'month',
        dateRange: { date_from: '-1h' },
      };
      const insight = await make('insights', { name: 'Failures', query });
      const alert = await make('alerts', {
        insight,
        name: 'Failures',
        subscribed_users: [],
        threshold: { configuration: { type: 'absolute', bounds: { upper: 2 } } },
        config: { type: 'TrendsAlertConfig', check_ongoing_interval: true },
        notify_url: url,
      });
      const due = clock.now() + 5 * MINUTE_MS;
      const subscription = await make('subscriptions', {
        insight,
        target_type: 'webhook',
        target_value: url,
        frequency: 'daily',
        start_date: new Date(due).toISOString(),
      });
      // What is found is told by jobs of their own; one that failed is tried after a while.
      for (let minutes = 0; minutes < 15; minutes += 1) {
        await stage.tick();
        await settle();
        clock.advance(MINUTE_MS);
      }
      const told = receiver.received.map(({ headers, body }) => ({ id: headers['webhook-id'], ...JSON.parse(body) }));
      const ofType = (type: string) => told.filter((one) => one.type === type);
      const alarms = ofType('alert.firing');
      assert.deepEqual(
        alarms.map(({ data }) => [data.alert, data.value]),
        [
          [alert, 3],
          [alert, 3],
        ],
        JSON.stringify(told),
      );
      assert.equal(new Set(alarms.map(({ id }) => id)).size, 1);
      assert.deepEqual(
        ofType('subscription.due').map(({ data }) => [
          data.subscription,
          data.insights[0].rows.map((row: unknown[]) => row.at(-1)),
        ]),
        [[subscription, [3]]],
        JSON.stringify(told),
      );
      const seen = await call('GET', `/api/projects/${projectId}/alerts/${alert}/`);
      assert.equal(seen.body.state, 'Firing', JSON.stringify(seen.body));
      for (const path of [`alerts/${alert}`, `subscriptions/${subscription}`])
        await call('PATCH', `/api/projects/${projectId}/${path}/`, { enabled: false });
      // What follows arrives in hours of its own.
      clock.advance(HOUR_MS);
      return '3 events: the alert is told once its webhook takes it, the subscription once';
    } finally {
      await receiver.close();
    }
  });

  await step('events of SDKs, which are in an export', async () => {
    await customer.empty();
    // Their servers are gone by now, and what arrives live is due to all of them.
    for (const { id: other } of (await call('GET', `${exportsPath()}/`)).body.results)
      if (other !== exportId) await call('POST', `${exportsPath()}/${other}/pause/`);
    const id = await create({ name: 'Captured', model: 'events', destination: customer.destination });
    const { body: project } = await call('GET', `/api/projects/${projectId}/`);
    for (const [mode, first] of [
      ['v0', 0],
      ['v1', 30],
    ] as const) {
      process.env['POSTHOG_CAPTURE_MODE'] = mode;
      const sdk = new PostHog(project.api_token, { host: stage.address, flushAt: 20, flushInterval: 0 });
      for (let n = first; n < first + 30; n += 1)
        sdk.capture({ distinctId: `sdk-${n % 3}`, event: 'sent', properties: { n } });
      await sdk.shutdown();
    }
    // As a browser sends it: gzip that says it is text.
    const send = (event: object) =>
      fetch(`${stage.address}/i/v0/e/?ip=0`, {
        method: 'POST',
        headers: { 'Content-Type': 'text/plain', Origin: 'https://acme.com' },
        body: gzipSync(JSON.stringify([{ distinct_id: 'page', properties: { token: project.api_token }, ...event }])),
      });
    const answered = await send({ event: 'seen', uuid: v7() });
    assert.deepEqual(
      [answered.status, answered.headers.get('access-control-allow-origin')],
      [200, 'https://acme.com'],
      await answered.text(),
    );
    // Too large for the delivery stream.
    const large = Array.from({ length: 20 }, () => ({
      event: 'large',
      distinct_id: 'page',
      properties: { noise: randomBytes(30_000).toString('hex') },
    }));
    const text = JSON.stringify({ api_key: project.api_token, batch: large });
    const refused = await send({ event: '', uuid: 'none' });
    assert.equal(refused.status, 400);
    const kept = await fetch(`${stage.address}/batch/`, { method: 'POST', body: text });
    assert.equal(kept.status, 200, await kept.text());
    assert.equal((await send({ event: 'seen', properties: { token: 'phc_nobody' } })).status, 401);
    const arrived = clock.now() - (clock.now() % HOUR_MS);
    await stage.deliverInbox();
    clock.advance(2 * MINUTE_MS);
    await stage.tick();
    await settle();
    const landed = clock.now() - (clock.now() % HOUR_MS);
    clock.advance(landed + HOUR_MS + 16 * MINUTE_MS - clock.now());
    const run = await backfilled(id, arrived, landed + HOUR_MS);
    const ended = (await runs(id)).filter(({ status }) => status === 'Completed');
    const rows = ended.reduce((sum, one) => sum + one.records_completed, 0);
    assert.equal(rows, 81, JSON.stringify(run));
    return `${rows} events, each once`;
  });

  await step('queries, which tell what was sent and imported', async () => {
    const queries = `/api/projects/${projectId}/query/`;
    const ask = async (query: object, rest: object = {}): Promise<Reply['body']> => {
      const { status, body } = await call('POST', queries, { query, ...rest });
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    };
    const hogql = async (query: string, rest: object = {}) => ask({ kind: 'HogQLQuery', query }, rest);
    // What was imported, what arrived live, and what SDKs sent.
    const events = { $pageview: hours * PER_HOUR, failed: 3, large: 20, paid: 25, seen: 1, sent: 60 };
    const query = 'SELECT event, count() AS n FROM events GROUP BY event ORDER BY event';
    const counted = await hogql(query);
    assert.deepEqual(counted.results, Object.entries(events));
    assert.deepEqual([counted.is_cached, (await hogql(query)).is_cached], [false, true]);
    const sum = await hogql("SELECT sum(toFloat(properties.n)), uniq(distinct_id) FROM events WHERE event = 'sent'");
    assert.deepEqual(sum.results, [[(59 * 60) / 2, 3]]);
    // Each hour of the log is another visitor.
    const { results } = await ask({
      kind: 'TrendsQuery',
      series: [{ event: '$pageview' }, { event: '$pageview', math: 'dau' }],
      interval: 'day',
      dateRange: { date_from: '2015-05-17', date_to: '2015-05-18' },
    });
    const first = Math.min(hours, 24);
    const second = Math.min(hours - first, 24);
    assert.deepEqual(
      results.map(({ data }: { data: number[] }) => data),
      [
        [first * PER_HOUR, second * PER_HOUR],
        [first, second],
      ],
    );
    const wrong = await call('POST', queries, { query: { kind: 'HogQLQuery', query: 'SELECT nothing FROM events' } });
    assert.deepEqual([wrong.status, wrong.body.attr], [400, 'query'], JSON.stringify(wrong.body));

    const all = Object.values(events).reduce((sum, n) => sum + n, 0);
    const begun = (): number =>
      stage.calls.log.filter(({ service, action }) => service === 'athena' && action === 'StartQueryExecution').length;
    /** Returns what is told of a query that nobody waits for, and how many queries of Athena it took. */
    const later = async (asked: object): Promise<{ results: unknown; byAthena: number }> => {
      const before = begun();
      const { status, body } = await call('POST', queries, {
        query: asked,
        refresh: 'force_async',
        client_query_id: 'rehearsed',
      });
      assert.deepEqual([status, body.query_status?.complete], [202, false], JSON.stringify(body));
      let told: Reply = await call('GET', `${queries}rehearsed/`);
      for (let tries = 0; told.status === 202 && tries < 300; tries += 1) {
        await setTimeout(200);
        told = await call('GET', `${queries}rehearsed/`);
      }
      assert.equal(told.status, 200, JSON.stringify(told.body));
      return { results: told.body.query_status?.results?.results, byAthena: begun() - before };
    };
    const series = [{ event: '$pageview' }, { event: '$pageview', math: 'dau' }];
    const log = { date_from: '2015-05-17', date_to: '2015-05-18' };
    // The files of that time are few; those of all time are more than the rehearsed function reads.
    assert.deepEqual(await later({ kind: 'TrendsQuery', series, interval: 'day', dateRange: log }), {
      results,
      byAthena: 0,
    });
    assert.deepEqual(await later({ kind: 'HogQLQuery', query: 'SELECT count() FROM events WHERE 1 = 1' }), {
      results: [[all]],
      byAthena: 1,
    });
    const large: [string, object][] = [
      ['HogQL', { kind: 'HogQLQuery', query }],
      [
        'persons',
        {
          kind: 'HogQLQuery',
          query: `SELECT event, uniq(person_id), max(timestamp), sum(toFloat(properties.n)) FROM events
            GROUP BY event ORDER BY event`,
        },
      ],
      ['events', { kind: 'EventsQuery', select: ['*'], after: 'all', event: 'paid', orderBy: ['uuid'] }],
      ['trends', { kind: 'TrendsQuery', series, interval: 'month', dateRange: { date_from: 'all' } }],
      [
        'a funnel',
        { kind: 'FunnelsQuery', series: [{ event: 'sent' }, { event: 'sent' }], dateRange: { date_from: 'all' } },
      ],
    ];
    for (const [name, asked] of large) {
      const now = await ask(asked, { refresh: 'force_blocking' });
      const told = await later(asked);
      assert.deepEqual(told.results, now.results, name);
      assert.ok(told.byAthena > 0, `${name} was not answered by Athena`);
    }
    assert.equal((await call('DELETE', `${queries}rehearsed/`)).status, 200);

    const paid = await call('GET', `/api/projects/${projectId}/events/?event=paid&limit=7`);
    assert.deepEqual([paid.status, paid.body.results?.length], [200, 7], JSON.stringify(paid.body));
    const one = await call('GET', `/api/projects/${projectId}/events/${paid.body.results[0].id}/`);
    assert.deepEqual([one.status, one.body.event], [200, 'paid'], JSON.stringify(one.body));
    const persons = await call('GET', `/api/projects/${projectId}/persons/?distinct_id=user-3`);
    assert.deepEqual(
      [persons.status, persons.body.results?.[0]?.properties?.plan],
      [200, 'all'],
      JSON.stringify(persons.body),
    );
    const names = await call('GET', `/api/projects/${projectId}/event_definitions/`);
    assert.equal(names.status, 200, JSON.stringify(names.body));
    const properties = await call('GET', `/api/projects/${projectId}/property_definitions/?type=person`);
    const known = properties.body.results?.map(({ name }: { name: string }) => name);
    assert.ok(known?.includes('plan'), JSON.stringify(properties.body));
    const put = await call('PUT', `/api/projects/${projectId}/property_definitions/`, {});
    assert.deepEqual([put.status, put.body.code], [405, 'method_not_allowed'], JSON.stringify(put.body));

    const shown = await call('POST', `/api/projects/${projectId}/insights/`, {
      name: 'Events',
      query: { kind: 'DataVisualizationNode', source: { kind: 'HogQLQuery', query } },
    });
    const insight = await call('GET', `/api/projects/${projectId}/insights/${shown.body.id}/?refresh=blocking`);
    assert.deepEqual(insight.body.result, Object.entries(events), JSON.stringify(insight.body));
    return `${all} events counted, at once, later, and by Athena`;
  });

  await step('a person who is deleted with their events', async () => {
    const path = `/api/projects/${projectId}/persons/`;
    const personOf = async (name: string) => (await call('GET', `${path}?distinct_id=${name}`)).body.results?.[0];
    const eventsOf = async (name: string): Promise<number> => {
      const { status, body } = await call('GET', `/api/projects/${projectId}/events/?distinct_id=${name}`);
      assert.equal(status, 200, JSON.stringify(body));
      return body.results.length;
    };
    const counted = async (): Promise<unknown> => {
      const query = "SELECT distinct_id, count() FROM events WHERE event = 'paid' GROUP BY distinct_id ORDER BY 1";
      const asked = { query: { kind: 'HogQLQuery', query } };
      return (await call('POST', `/api/projects/${projectId}/query/`, asked)).body.results;
    };
    const users = ['user-0', 'user-1', 'user-2', 'user-3', 'user-4'];
    assert.deepEqual(
      await counted(),
      users.map((name) => [name, 5]),
    );
    const { id } = await personOf('user-3');
    const other = await personOf('user-4');
    const killed = atFirst('steps/delete-persons', 'PutObject', () =>
      stage.lambda.kill(stage.functionNamed('steps/delete-persons')),
    );
    for (const [name, events] of [
      [id, true],
      [other.id, false],
    ]) {
      const { status, body } = await call('DELETE', `${path}${name}/${events ? '?delete_events=true' : ''}`);
      assert.deepEqual([status, body], [202, undefined]);
    }
    await stage.tick();
    await settle();
    assert.ok(await killed(), 'nothing was killed');
    for (const one of [id, other.id]) assert.equal((await call('GET', `${path}${one}/`)).status, 404);
    assert.deepEqual([await eventsOf('user-3'), await eventsOf('user-4')], [0, 5]);
    const left = users.filter((name) => name !== 'user-3');
    // The answer that was kept is not true any more.
    assert.deepEqual(
      await counted(),
      left.map((name) => [name, 5]),
    );
    await customer.empty();
    const later = await create({ name: 'Later', model: 'events', destination: customer.destination });
    const run = await backfilled(later, live, live + HOUR_MS);
    assert.deepEqual([run?.status, run?.records_completed], ['Completed', 20], JSON.stringify(run));
    const [file = ''] = await customer.keys();
    assert.equal((await customer.read(file)).body.includes('user-3'), false);
    await call('POST', `${exportsPath()}/${later}/pause/`);
    return '5 events are gone from lists, answers and exports, 20 are there; its function was killed once';
  });

  await step('a pause, and what it left out', async () => {
    const range = { start_at: new Date(start).toISOString(), end_at: new Date(start + 3 * HOUR_MS).toISOString() };
    const asked = await call('POST', `${exportsPath()}/${exportId}/backfill_estimate/`, range);
    assert.deepEqual([asked.body.intervals, asked.body.rows], [3, 3 * PER_HOUR], JSON.stringify(asked.body));
    const before = (await runs()).length;
    assert.equal((await call('POST', `${exportsPath()}/${exportId}/pause/`)).status, 200);
    clock.advance(2 * HOUR_MS);
    await stage.tick();
    await settle();
    assert.equal((await runs()).length, before);
    assert.equal((await call('POST', `${exportsPath()}/${exportId}/unpause/`, { backfill: true })).status, 200);
    await stage.tick();
    await settle();
    const made = (await runs()).slice(0, -before);
    assert.deepEqual([...new Set(made.map(({ status }) => status))], ['Completed'], JSON.stringify(made));
    return `${made.length} runs`;
  });

  await step('a backfill that is cancelled while it runs', async () => {
    await customer.empty();
    let location = '';
    const cancelled = atFirst('steps/send-interval', 'GetObject', async () => {
      const { status, body } = await call('POST', `${location}cancel/`);
      assert.equal(status, 200, JSON.stringify(body));
    });
    location = await backfill(start, start + HOUR_MS);
    await settle();
    assert.ok(await cancelled(), 'nothing was cancelled');
    assert.equal((await call('GET', location)).body.status, 'Cancelled');
    assert.deepEqual(await customer.keys(), []);
    return 'nothing was delivered';
  });

  await step('a run that is cancelled, and run again', async () => {
    const address = `${exportsPath()}/${exportId}/runs`;
    let run = '';
    const cancelled = atFirst('steps/send-interval', 'GetObject', async () => {
      run = (await call('GET', `${address}?limit=1`)).body.results[0].id;
      const { status, body } = await call('POST', `${address}/${run}/cancel/`);
      assert.equal(status, 200, JSON.stringify(body));
    });
    await backfill(start, start + HOUR_MS);
    await settle();
    assert.ok(await cancelled(), 'nothing was cancelled');
    assert.equal((await call('GET', `${address}/${run}/`)).body.status, 'Cancelled');
    assert.deepEqual(await customer.keys(), []);
    assert.equal((await call('POST', `${address}/${run}/retry/`)).status, 201);
    await stage.tick();
    await settle();
    assert.deepEqual([...(await delivered()).values()], [PER_HOUR]);
    return `${PER_HOUR} rows`;
  });

  await step('a function that is killed while it sends', async () => {
    await customer.empty();
    const killed = atFirst('steps/send-interval', 'GetObject', () =>
      stage.lambda.kill(stage.functionNamed('steps/send-interval')),
    );
    const location = await backfill(start, start + 3 * HOUR_MS);
    await settle();
    assert.ok(await killed(), 'nothing was killed');
    const { body } = await call('GET', location);
    assert.equal(body.status, 'Completed', JSON.stringify(body));
    const files = await delivered();
    assert.deepEqual([files.size, rowsIn(files)], [3, 3 * PER_HOUR]);
    return 'sent by another one';
  });

  await step('an execution that an operator aborts', async () => {
    await customer.empty();
    const first = async () =>
      (await runs()).find(({ data_interval_start }) => Date.parse(data_interval_start) === start);
    let id = '';
    const aborted = atFirst('steps/send-interval', 'GetObject', async () => {
      await stage.abort('export-run', `${id}-0`);
      for (let tries = 0; (await first())?.status !== 'Terminated' && tries < 50; tries += 1) await setTimeout(100);
    });
    id = (await backfill(start, start + HOUR_MS)).replace(/\/$/, '').split('/').at(-1) ?? '';
    await settle();
    assert.ok(await aborted(), 'nothing was aborted');
    const run = await first();
    assert.equal(run?.status, 'Terminated', JSON.stringify(run));
    assert.deepEqual(await customer.keys(), []);
    return 'its run is Terminated, and the function that went on delivered nothing';
  });

  await step('limits of the gateway and of functions', async () => {
    for (const size of [7, 11]) {
      const { status, body } = await call('POST', `${exportsPath()}/`, `{"name":"${'x'.repeat(size * 1024 * 1024)}"}`);
      assert.deepEqual([status, Object.keys(body)], [413, ['type', 'code', 'detail', 'attr']]);
    }
    const other = await fetch(stage.address.replace(/dev$/, 'prod/api/organizations/'));
    assert.equal(other.status, 404);
    return '413 for 7 MB and for 11 MB';
  });

  await step('a project that is deleted', async () => {
    const { status } = await call('DELETE', `/api/projects/${projectId}/`);
    assert.equal(status, 204);
    await stage.tick();
    for (let rest = 0; rest < 4; rest += 1) {
      await settle();
      // The walk rests for 15 minutes, and looks again.
      clock.advance(16 * MINUTE_MS);
    }
    await settle();
    const { body } = await call('GET', `/api/organizations/${organizationId}/projects/`);
    assert.equal(body.count, 0);
    assert.equal(await executions.statusOf('purge', executions.started().get('purge')?.[0] ?? ''), 'SUCCEEDED');
    return 'and purged';
  });
  context.close();
}
