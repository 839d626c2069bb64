/** The commands that ask a running service, over HTTP, with runs that the real machines make. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { importFiles } from '../../../infra/local/import-files.ts';
import { EXIT, runAdmin } from '../../../lib/admin/program.ts';
import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { writeLines } from '../../../lib/exports/records/logs.ts';
import type { Imports } from '../../../lib/imports/imports.ts';
import { runImport } from '../../../lib/imports/run.ts';
import { ImportRunner } from '../../../lib/imports/runner.ts';
import { importEvents } from '../../../lib/lake/import/import.ts';
import { exportWorld } from '../../support/export-world.ts';
import { testService } from '../../support/service.ts';

const NOW = Date.UTC(2026, 0, 7, 13, 20);
const LATER = Date.UTC(2026, 0, 7, 14, 10);

let world: Awaited<ReturnType<typeof exportWorld>>;
beforeEach(async () => {
  world = await exportWorld({ now: NOW });
});
afterEach(() => world.close());

/** A service, and the command line of somebody who may do everything; `meanwhile` happens whenever a command waits. */
async function commandLine() {
  const { context, run: runMachines } = world.boot();
  const service = await testService(context);
  const input = { text: '' };
  let key = service.key;
  let url = service.address;
  let looks: (() => Promise<unknown>)[] = [];
  const bars: string[] = [];
  const run = async (...words: string[]) => {
    const stop = new AbortController();
    const shown = { out: '', errors: '' };
    const code = await runAdmin(words, {
      open: () => Promise.reject(new Error('no command of a service opens the data directory')),
      print: (text) => {
        shown.out += text;
      },
      complain: (text) => {
        shown.errors += text;
      },
      progress: () => ({
        update: (done, total, note) => bars.push(`${done}/${total} ${note}`),
        end: () => bars.push('end'),
      }),
      interruption: (reason) => ({ signal: stop.signal, end: () => stop.abort(reason) }),
      resolve: (path) => path,
      importFiles: (words) =>
        importFiles(words, { resolve: (path) => path, input: Readable.from([input.text]), environment: {} }),
      version: '1.2.3',
      address: async (given) => ({ url: given ?? url, key }),
      read: async (path) => (path === '-' ? input.text : Promise.reject(new Error(`no file ${path}`))),
      pause: async () => {
        const look = looks.shift();
        if (look !== undefined) return void (await look());
        const { Interrupted } = await import('../../../lib/admin/service/program.ts');
        throw new Interrupted();
      },
    });
    return { code, ...shown };
  };
  return {
    ...service,
    imports: context.imports as Imports,
    run,
    runMachines,
    input,
    bars,
    json: async (...words: string[]) => {
      const { out, errors } = await run(...words, '--json');
      expect(errors).toBe('');
      return JSON.parse(out);
    },
    meanwhile: (...some: (() => Promise<unknown>)[]) => {
      looks = some;
    },
    use: (other: { key?: string; url?: string }) => {
      key = other.key ?? key;
      url = other.url ?? url;
    },
    created: async (name = 'Hourly') => {
      const destination = { type: 'Folder', config: { path: world.target } };
      input.text = JSON.stringify({ name, interval: 'hour', destination });
      const { out } = await run('exports', 'create', '-', '--json');
      return JSON.parse(out).id as string;
    },
    arrive: async (count: number, arrived: 'now' | 'then' = 'now', newest = NOW - 2 * HOUR_MS) => {
      const file = join(world.folder, 'events.jsonl');
      const event = (n: number) => ({
        event: `e${n}`,
        distinct_id: 'd',
        timestamp: new Date(newest - n).toISOString(),
      });
      writeFileSync(file, Array.from({ length: count }, (_, n) => JSON.stringify(event(n))).join('\n'));
      const rejectedFolder = join(world.folder, 'rejected');
      await importEvents(world.context, { projectId: service.project.id, files: [file], rejectedFolder, arrived });
    },
  };
}

describe('exports', () => {
  test('are made, listed, shown, paused, unpaused and deleted', async () => {
    const { run, json, created } = await commandLine();
    const id = await created();
    expect((await run('exports', 'list')).out).toBe(
      'ID                                    NAME    DESTINATION  INTERVAL  STATE    LAST RUN\n' +
        `${id}  Hourly  Folder       hour      running  none\n`,
    );
    expect(await run('exports', 'pause', id)).toEqual({ code: EXIT.ok, out: `Paused Hourly (${id})\n`, errors: '' });
    expect(await json('exports', 'show', id)).toMatchObject({ id, paused: true });
    expect((await run('exports', 'show', id)).out).toContain('state        paused\n');
    expect((await run('exports', 'unpause', id)).out).toBe(`Unpaused Hourly (${id})\n`);
    expect(await json('backfill', 'list', id)).toEqual([]);
    await run('exports', 'pause', id);
    world.time.clock.set(LATER);
    expect((await run('exports', 'unpause', id, '--backfill')).out).toBe(`Unpaused Hourly (${id})\n`);
    expect(await json('backfill', 'list', id)).toHaveLength(1);
    expect((await run('exports', 'delete', id)).out).toBe(`Deleted ${id}\n`);
    expect((await run('exports', 'list')).out).toBe('No batch exports.\n');
  });

  test('of more than a page are all listed, or as many as are asked for', async () => {
    const { json, created } = await commandLine();
    for (let n = 0; n < 3; n++) await created(`Export ${n}`);
    expect(await json('exports', 'list')).toHaveLength(3);
    expect(await json('exports', 'list', '--limit', '2')).toHaveLength(2);
  });

  test.each(['-1', '0', 'abc', '2x', '1.5'])('are not listed where the number of them is none: %s', async (limit) => {
    const { run } = await commandLine();
    expect(await run('exports', 'list', '--limit', limit)).toMatchObject({
      code: EXIT.usage,
      errors: expect.stringContaining('A whole number from 1 is needed.'),
    });
  });

  test('whose names steer terminals are shown without that', async () => {
    const { run, created } = await commandLine();
    await created('red \u001b[31m\u009b2J\nline');
    expect((await run('exports', 'list')).out).toContain('red  [31m 2J line');
  });
});

describe('a backfill', () => {
  test('is estimated, begun, waited for with a bar, and listed; its runs and logs can be read', async () => {
    const { run, json, created, arrive, meanwhile, runMachines, bars } = await commandLine();
    const id = await created();
    await arrive(5, 'then');
    const range = ['--from', '2026-01-07T10:00:00Z', '--until', '2026-01-07T13:00:00Z'];
    expect(await json('backfill', 'estimate', id, ...range)).toMatchObject({ intervals: 3, rows: 5 });
    meanwhile(async () => {
      await runMachines(LATER);
    });
    const { code, out } = await run('backfill', 'start', id, ...range, '--wait');
    expect([code, out]).toEqual([EXIT.ok, expect.stringMatching(/^status +Completed$/m)]);
    expect(bars).toEqual([expect.stringMatching(/^0\/\d+ 0 rows/), 'end']);
    expect((await run('backfill', 'list', id)).out).toMatch(/ {2}Completed {2}.* {2}5\n$/);

    const runs = await json('runs', 'list', id, '--status', 'Completed');
    const delivered = runs.find(({ records_completed }: { records_completed: number }) => records_completed === 5);
    expect((await run('runs', 'show', id, delivered.id)).out).toMatch(/^rows +5$/m);
    expect((await run('logs', id, '--run', delivered.id)).out).toMatch(/^2026-01-07T13:20:\S+ {2}INFO /);
    const { out: retried } = await run('runs', 'retry', id, delivered.id);
    const newest = (await json('backfill', 'list', id))[0].id;
    expect(retried).toBe(`Run ${delivered.id} is tried again, by backfill ${newest}\n`);
  });

  test('has runs that are listed however long ago they were', async () => {
    const { run, created, runMachines } = await commandLine();
    const id = await created();
    await run('exports', 'pause', id);
    await run('backfill', 'start', id, '--from', '2026-01-07T10:00:00Z', '--until', '2026-01-07T11:00:00Z');
    await runMachines(NOW);
    await runMachines(NOW + 8 * DAY_MS);
    expect((await run('runs', 'list', id)).out).toContain('Completed  2026-01-07T10:00:00Z');
  });

  test('that does not end well is a failure of the command', async () => {
    const { run, json, created, arrive, meanwhile, runMachines } = await commandLine();
    const id = await created();
    await arrive(5, 'then');
    const range = ['--from', '2026-01-07T10:00:00Z', '--until', '2026-01-07T12:00:00Z'];
    const { backfill_id } = await json('backfill', 'start', id, ...range);
    meanwhile(async () => {
      await run('backfill', 'cancel', id, backfill_id);
      await runMachines();
    });
    const { code, out } = await run('backfill', 'show', id, backfill_id, '--wait');
    expect([code, out]).toEqual([EXIT.failed, expect.stringMatching(/^status +Cancelled$/m)]);
  });
});

test('logs are followed: each line once, in order, until Ctrl-C', async () => {
  const { run, created, arrive, meanwhile, runMachines } = await commandLine();
  const id = await created();
  await arrive(2);
  meanwhile(
    () => runMachines(LATER),
    async () => {},
    async () => {},
  );
  const { code, out, errors } = await run('logs', id, '--follow');
  const lines = out.trimEnd().split('\n');
  expect([code, errors]).toEqual([EXIT.interrupted, '']);
  expect(lines.length).toBeGreaterThan(1);
  expect(lines).toEqual([...new Set(lines)]);
  expect([lines[0], lines.at(-1)]).toEqual([
    expect.stringContaining('Batch exporting range'),
    expect.stringContaining('2 records exported'),
  ]);
});

describe('until the first that is looked for comes', () => {
  /** Returns the lists that were asked for, as `after` tells them, once a command has run. */
  const asked = (path: string): (string | null)[] =>
    jest
      .mocked(fetch)
      .mock.calls.map(([address]) => new URL(address as string))
      .filter(({ pathname, searchParams }) => pathname.endsWith(path) && searchParams.get('limit') !== '1')
      .map(({ searchParams }) => searchParams.get('after'));

  beforeEach(() => {
    jest.spyOn(globalThis, 'fetch');
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  test('no look reads the log from its beginning again, and what comes is shown', async () => {
    const { run, created, arrive, meanwhile, runMachines } = await commandLine();
    const id = await created();
    await arrive(2);
    await runMachines(LATER);
    const line = { level: 'ERROR', message: 'a failure of a step that began before', instance: 'run' } as const;
    meanwhile(
      async () => {},
      async () => {},
      () => writeLines(world.context, id, 'execution', 'send', [{ at: LATER - HOUR_MS / 2, ...line }]),
      async () => {},
    );
    const { out } = await run('logs', id, '--follow', '--level', 'ERROR');
    expect(out.trimEnd().split('\n')).toEqual([expect.stringContaining('a failure of a step')]);
    const [first, ...others] = asked('/logs/');
    expect(first).toBeNull();
    expect(others.length).toBeGreaterThan(3);
    expect(others).not.toContain(null);
  });

  test('no look reads all events again, and what arrives is shown', async () => {
    const { run, arrive, meanwhile } = await commandLine();
    await arrive(1);
    meanwhile(
      async () => {},
      async () => {},
      () => arrive(3),
      async () => {},
    );
    expect((await run('events', 'tail', '--event', 'e2')).out.match(/ e\d /g)).toEqual([' e2 ']);
    const [first, ...others] = asked('/events/');
    expect(first).toBeNull();
    expect(others.length).toBeGreaterThan(3);
    expect(others).not.toContain(null);
  });
});

test('events are shown as they arrive, until Ctrl-C', async () => {
  const { run, arrive, meanwhile } = await commandLine();
  await arrive(1);
  meanwhile(
    () => arrive(3),
    async () => {},
  );
  const { code, out } = await run('events', 'tail');
  expect(code).toBe(EXIT.interrupted);
  expect(out.match(/ e\d /g)).toEqual([' e0 ', ' e2 ', ' e1 ']);
});

test('events are shown as they arrive beside one that is dated ahead', async () => {
  const { run, arrive, meanwhile, project } = await commandLine();
  const file = join(world.folder, 'ahead.jsonl');
  writeFileSync(
    file,
    JSON.stringify({ event: 'ahead', distinct_id: 'd', timestamp: new Date(Date.now() + HOUR_MS).toISOString() }),
  );
  const rejectedFolder = join(world.folder, 'rejected');
  await importEvents(world.context, { projectId: project.id, files: [file], rejectedFolder });
  meanwhile(() => arrive(1, 'now', Date.now()));
  expect((await run('events', 'tail')).out.match(/ (e0|ahead) /g)).toEqual([' ahead ', ' e0 ']);
});

test.each(['-1', '0', 'abc', '2x'])('events are not shown where the number of them is none: %s', async (count) => {
  const { run } = await commandLine();
  expect(await run('events', 'tail', '--count', count)).toMatchObject({
    code: EXIT.usage,
    errors: expect.stringContaining('A whole number from 1 is needed.'),
  });
});

test('rows as CSV tell what is false from what is missing', async () => {
  const { run } = await commandLine();
  const { out } = await run(
    'query',
    'SELECT true AS yes, false AS no, NULL AS nothing, [1] AS list',
    '--format',
    'csv',
  );
  expect(out).toBe('yes,no,nothing,list\ntrue,false,,[1]\n');
});

test.each(['table', 'csv', 'json'])('rows that are not all of them are said to be so: %s', async (format) => {
  const { run, arrive } = await commandLine();
  await arrive(101);
  const query = 'SELECT event FROM events';
  const { code, out, errors } = await run('query', query, '--format', format);
  expect([code, out.match(/\be\d+/g)?.length]).toEqual([EXIT.ok, 100]);
  expect(errors).toBe('There are more rows: a LIMIT in the query, by default 100, says how many are printed.\n');
  expect((await run('query', `${query} LIMIT 101`, '--format', format)).errors).toBe('');
});

test('rows as JSON lose no column: two of one name are refused', async () => {
  const { run } = await commandLine();
  expect(await run('query', 'SELECT 1 AS a, 2 AS b, 3 AS a', '--format', 'json')).toEqual({
    code: EXIT.failed,
    out: '',
    errors: 'error: Two columns are named a: name one of them with AS.\n',
  });
  expect((await run('query', 'SELECT 1 AS a, 3 AS a', '--format', 'csv')).out).toBe('a,a\n1,3\n');
});

test('rows are printed in one way: the answer as JSON has no other format', async () => {
  const { run } = await commandLine();
  expect(await run('query', 'SELECT 1', '--json', '--format', 'csv')).toMatchObject({
    code: EXIT.usage,
    errors: expect.stringContaining("option '--format <format>' cannot be used with option '--json'"),
  });
});

test('organizations and projects are listed, projects made, and their tokens replaced', async () => {
  const { run, json, organization, project } = await commandLine();
  expect((await run('organization', 'list')).out).toContain(`${organization.id}  Acme\n`);
  const made = await json('project', 'create', 'Second');
  expect(await json('project', 'list')).toMatchObject([{ id: project.id }, { id: made.id, api_token: made.api_token }]);
  const { out } = await run('project', 'rotate-token', '--project', String(made.id));
  expect(out).toMatch(/^The token of "Second" is now phc_\w+\n$/);
  expect(out).not.toContain(made.api_token);
});

describe('an import', () => {
  const line = '{"event":"paid","distinct_id":"ada","timestamp":"2026-01-01"}\n';

  /** A file, and a look at which the service has imported what was started. */
  async function importing(content: string) {
    const line = await commandLine();
    const file = join(world.folder, 'sent.jsonl');
    writeFileSync(file, content);
    const files = line.imports.files;
    const runner = new ImportRunner({
      ...world.context,
      files,
      run: (task) => runImport(world.context, task, { files, folder: world.folder, onProgress: () => {} }),
    });
    const pass = async () => {
      await runner.pass();
      await runner.idle();
    };
    line.meanwhile(pass);
    return { ...line, file, pass };
  }

  test('is sent with a bar, listed and shown', async () => {
    const { run, json, file, bars } = await importing(line);
    const [sent] = await json('imports', 'send', file);
    expect(sent).toMatchObject({ name: 'sent.jsonl', state: 'completed', added: 1, rejected: 0 });
    expect(bars).toEqual([`${line.length}/${line.length} uploaded`, `0/${line.length} 0 events`, 'end']);
    expect((await run('imports', 'list')).out).toContain('sent.jsonl  completed  1       1      0');
    expect((await run('imports', 'show', sent.id)).out).toContain('state     completed');
    expect((await run('imports', 'show', sent.id)).out).toMatch(/^read +(\d+) of \1 bytes, 1 event$/m);
    expect(await run('imports', 'cancel', sent.id)).toMatchObject({
      code: EXIT.failed,
      errors: expect.stringContaining('The import is completed'),
    });
  });

  test('that no schedule delivers ends with the command that does', async () => {
    const { run, json, file, created } = await importing(line);
    const id = await created();
    const shown = (await run('imports', 'send', file, '--arrived', 'then')).out;
    const [{ id: sent }] = await json('imports', 'list');
    const told = [
      'Export "Hourly" has passed 1 range of it; a backfill delivers them:',
      `  npx workspace backfill start ${id} --from 2026-01-01T00:00:00Z --until 2026-01-01T01:00:00Z`,
    ];
    expect(shown.trimEnd().split('\n').slice(-2)).toEqual(told);
    const again = await run('imports', 'show', sent, '--project', '1');
    expect(again.out.trimEnd().split('\n').slice(-2)).toEqual([told[0], `${told[1]} --project 1`]);
    const command = told[1]?.trim().split(' ').slice(2) ?? [];
    expect((await run(...command)).out).toMatch(/^Began backfill /);
  });

  test('of which something was rejected is a failure of the command, which says what and why, and where all of it is', async () => {
    const { run, json, file, address } = await importing(`${line}no event\n`);
    expect(await run('imports', 'send', file)).toMatchObject({
      code: EXIT.failed,
      out: expect.stringContaining('rejected  1'),
    });
    const [{ id }] = await json('imports', 'list');
    const { out } = await run('imports', 'show', id);
    const at = `${address}/api/projects/%40current/imports/${id}/rejected/`;
    expect(out).toMatch(
      /\n1 record rejected:\n {2}sent\.jsonl:2: not JSON: .*\nDownload them with a key in WORKSPACE_KEY: curl -H "Authorization: Bearer \$WORKSPACE_KEY" /,
    );
    expect(out.trimEnd().endsWith(` ${at}`)).toBe(true);
  });

  test('that is not there is said as the import beside the data says it', async () => {
    const { run, file } = await importing(line);
    expect(await run('imports', 'send', `${file}.gz`)).toEqual({
      code: EXIT.failed,
      out: '',
      errors: `error: There is no file ${file}.gz.\n`,
    });
  });

  test('is sent of a folder and of standard input, read as it is said, without what is empty', async () => {
    const { run, json, input, meanwhile, pass } = await importing(line);
    const folder = join(world.folder, 'sending');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.csv'), 'Action,who,at\npaid,ada,2026-01-01\n');
    writeFileSync(join(folder, 'b.csv'), '');
    input.text = 'Action,who,at\npaid,bob,2026-01-02\n';
    meanwhile(pass, pass);
    const columns = ['event=Action', 'distinct_id=who', 'timestamp=at'].flatMap((one) => ['--column', one]);
    const { code, out } = await run('imports', 'send', folder, '-', ...columns);
    expect([code, out]).toEqual([EXIT.ok, expect.stringMatching(/a\.csv[^]*b\.csv is empty[^]*standard input/)]);
    expect(await json('imports', 'list')).toMatchObject([
      { name: 'standard input', format: 'csv', added: 1 },
      { name: 'a.csv', format: 'csv', added: 1 },
    ]);
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  test('goes on when an answer is lost, or the service or what stands before it has no time', async () => {
    const { json, file, meanwhile, pass } = await importing(line);
    const asked: string[] = [];
    const real = globalThis.fetch;
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (address, options) => {
      const what = `${options?.method} ${new Request(address).url.replace(/^.*\/(?=\w+\/)/, '')}`;
      asked.push(what);
      const isFirst = asked.filter((one) => one === what).length === 1;
      if (isFirst && what.startsWith('PUT'))
        return new Response('busy', { status: 503, headers: { 'Retry-After': '9' } });
      const answer = await real(address, options);
      if (isFirst && what === 'POST start/') throw new TypeError('fetch failed');
      return isFirst && what.startsWith('GET') ? new Response('<html>', { status: 502 }) : answer;
    });
    const nothing = async () => {};
    meanwhile(nothing, nothing, nothing, pass);
    expect(await json('imports', 'send', file)).toMatchObject([{ state: 'completed', added: 1 }]);
    expect(asked.filter((one) => one.startsWith('POST'))).toEqual(['POST imports/', 'POST start/']);
  });

  test('goes on without the command when the service is away for long', async () => {
    const { run, json, file, meanwhile } = await importing(line);
    const real = globalThis.fetch;
    let isAway = false;
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (address, options) => {
      if (isAway) throw new TypeError('fetch failed');
      const answer = await real(address, options);
      isAway = new Request(address).url.endsWith('/start/');
      return answer;
    });
    meanwhile(...Array.from({ length: 100 }, () => async () => {}));
    const { code, errors } = await run('imports', 'send', file);
    isAway = false;
    const [{ id, state }] = await json('imports', 'list');
    expect([code, state]).toEqual([EXIT.failed, 'queued']);
    expect(errors).toContain(`The import goes on: imports show ${id}`);
  });

  test('is cancelled when the command is interrupted', async () => {
    const { run, json, file, meanwhile } = await importing(line);
    meanwhile();
    expect(await run('imports', 'send', file)).toMatchObject({ code: EXIT.interrupted });
    expect(await json('imports', 'list')).toMatchObject([{ name: 'sent.jsonl', state: 'cancelled' }]);
  });
});

describe('what goes wrong', () => {
  test('is told in the words of the service, with the field at fault', async () => {
    const { run, input } = await commandLine();
    input.text = JSON.stringify({ name: 'x', interval: 'hour', destination: { type: 'Folder', config: {} } });
    expect(await run('exports', 'create', '-')).toEqual({
      code: EXIT.failed,
      out: '',
      errors: "error: destination__non_field_errors: Configuration missing required field: 'path'\n",
    });
  });

  test('is told with what there is none of, and what lists them', async () => {
    const { run, created } = await commandLine();
    const id = await created();
    const told = async (...words: string[]) => (await run(...words)).errors;
    const range = ['--from', '2026-01-01', '--until', '2026-01-02'];
    expect(await told('exports', 'show', 'foo')).toBe(
      'error: There is no export foo in your first project. `npx workspace exports list` shows them.\n',
    );
    expect(await told('backfill', 'start', 'foo', ...range, '--project', '1')).toBe(
      'error: There is no export foo in project 1. `npx workspace exports list --project 1` shows them.\n',
    );
    expect(await told('imports', 'show', '7')).toBe(
      'error: There is no import 7 in your first project. `npx workspace imports list` shows them.\n',
    );
    expect(await told('runs', 'show', id, '7')).toBe(
      `error: There is no run 7 of export ${id} in your first project. \`npx workspace runs list ${id}\` shows them.\n`,
    );
    expect(await told('logs', id, '--run', '7')).toBe(
      `error: There is no run 7 of export ${id} in your first project. \`npx workspace runs list ${id}\` shows them.\n`,
    );
    expect(await told('exports', 'list', '--project', '9')).toBe('error: Project not found.\n');
  });

  test('says that no service answers, or that the key is no key', async () => {
    const { run, use } = await commandLine();
    expect((await run('exports', 'list', '--url', 'http://127.0.0.1:1')).errors).toMatch(
      /^error: No service answers at http:\/\/127\.0\.0\.1:1 \(.+\)\. Start it with npm start, or say where it is: --url\.\n$/,
    );
    use({ key: 'phx_wrong' });
    expect(await run('exports', 'list')).toMatchObject({
      code: EXIT.failed,
      errors: expect.stringContaining('invalid'),
    });
  });

  test.each(['.', '..'])('is not done to another object than %s names: none', async (word) => {
    const { run, json, project } = await commandLine();
    for (const words of [
      ['exports', 'delete', word],
      ['exports', 'show', word],
      ['runs', 'show', 'id', word],
    ]) {
      expect(await run(...words)).toEqual({ code: EXIT.failed, out: '', errors: `error: '${word}' names nothing.\n` });
    }
    expect(await json('project', 'list')).toMatchObject([{ id: project.id }]);
  });

  test('is a usage error where the words are not understood', async () => {
    const { run } = await commandLine();
    expect((await run('backfill', 'start', 'id')).code).toBe(EXIT.usage);
    expect((await run('exports', 'shout')).code).toBe(EXIT.usage);
    expect((await run('query', 'SELECT 1', '--format', 'xml')).code).toBe(EXIT.usage);
  });
});
