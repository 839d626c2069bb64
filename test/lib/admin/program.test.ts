import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { systemActivityOps } from '../../../lib/accounts/activity/ops.ts';
import { createInvite, openInvites } from '../../../lib/accounts/organizations/invites/store.ts';
import { findMembership, findOrganization } from '../../../lib/accounts/organizations/store.ts';
import { findKey, sha256 } from '../../../lib/accounts/personal-api-keys/lookup.ts';
import { createKey } from '../../../lib/accounts/personal-api-keys/store.ts';
import { findUserByEmail } from '../../../lib/accounts/users/store.ts';
import { doctor } from '../../../lib/admin/commands.ts';
import { EXIT, runAdmin } from '../../../lib/admin/program.ts';
import { silentProgress } from '../../../lib/admin/progress.ts';
import { keepReceiptFile } from '../../../lib/exports/runs/run-files.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { allFiles } from '../../../lib/lake/catalog.ts';
import { ImportStopped } from '../../../lib/lake/import/import.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { INPUT } from '../../support/exports.ts';
import { testService } from '../../support/service.ts';
import { ROOT } from '../../support/source.ts';
import { tableWith } from '../../support/table-override.ts';

/** Nobody presses Ctrl-C, and no command asks a service: those that do have a test of their own. */
const unasked = () => Promise.reject(new Error('understood'));
/** Nobody watches, and there is no service. */
const SURROUNDINGS = {
  print: () => {},
  complain: () => {},
  progress: silentProgress,
  interruption: () => ({ signal: new AbortController().signal, end: () => {} }),
  pause: async () => {},
  resolve: (path: string) => path,
  importFiles: async (words: readonly string[]) => [...words],
  address: unasked,
  read: unasked,
  version: '1.2.3',
};

function commandLine(paused: (stop: AbortController) => void = () => {}) {
  const context = testContext();
  const stop = new AbortController();
  const run = async (...words: string[]) => {
    let out = '';
    let errors = '';
    const code = await runAdmin(words, {
      ...SURROUNDINGS,
      open: async () => ({ ...context, close: () => {} }),
      print: (text) => {
        out += text;
      },
      complain: (text) => {
        errors += text;
      },
      interruption: () => ({ signal: stop.signal, end: () => {} }),
      pause: async () => paused(stop),
    });
    return { code, out, errors };
  };
  const json = async (...words: string[]) => {
    const { out, errors } = await run(...words, '--json');
    if (errors !== '') throw new Error(errors);
    return JSON.parse(out);
  };
  return { context, run, json, stop };
}

async function withOwner(paused?: (stop: AbortController) => void) {
  const line = commandLine(paused);
  const user = await line.json('user', 'create', '--email', 'ada@example.com', '--first-name', 'Ada');
  const organization = await line.json('organization', 'create', '--name', 'Engines', '--owner', 'ada@example.com');
  return { ...line, user, organization };
}

test('users, organizations, members and keys are made, and printed as the API has them', async () => {
  const { json, user, organization, context } = await withOwner();
  expect(user).toMatchObject({ id: 1, email: 'ada@example.com', first_name: 'Ada', last_name: '' });
  expect(organization).toMatchObject({ name: 'Engines', slug: 'engines', membership_level: 15, project_id: 1 });

  await json('user', 'create', '--email', 'bob@example.com');
  const membership = await json(
    'member',
    'add',
    '--organization',
    organization.id,
    '--email',
    'BOB@example.com',
    '--level',
    'admin',
  );
  expect(membership).toMatchObject({ level: 8, organization_id: organization.id, user: { email: 'bob@example.com' } });

  const key = await json(
    'key',
    'create',
    '--email',
    'bob@example.com',
    '--label',
    'CI',
    '--scopes',
    'dashboard:read, batch_export:write',
    '--projects',
    '1',
    '--organizations',
    organization.id,
  );
  expect(key).toMatchObject({
    label: 'CI',
    scopes: ['dashboard:read', 'batch_export:write'],
    scoped_teams: [1],
    scoped_organizations: [organization.id],
  });
  expect(await findKey(context.table, sha256(key.value))).toMatchObject({ id: key.id });
});

async function withInvites() {
  const line = await withOwner();
  const { context, organization, user } = line;
  const [stored, membership] = await Promise.all([
    findOrganization(context.table, organization.id),
    findMembership(context.table, user.uuid, organization.id),
  ]);
  if (membership === undefined || stored === undefined) throw new Error('not made');
  const tenant = { organization: stored, membership };
  const logOps = systemActivityOps(context, organization.id);
  const invite = (target_email: string) =>
    createInvite(context, tenant, { target_email, level: LEVELS.admin }, () => [], logOps);
  return { ...line, invite };
}

test('an invitation is accepted for its user, once they are there', async () => {
  const { run, json, organization, invite } = await withInvites();
  const { id } = await invite('bob@example.com');
  expect(await run('invite', 'accept', id)).toMatchObject({
    code: EXIT.failed,
    errors: 'error: There is no user bob@example.com.\n',
  });
  await json('user', 'create', '--email', 'bob@example.com');
  expect(await json('invite', 'accept', id)).toMatchObject({
    level: 8,
    organization_id: organization.id,
    user: { email: 'bob@example.com' },
  });
  expect((await run('invite', 'accept', id)).code).toBe(EXIT.failed);
});

test('whom an operator adds has no open invitation any more, in whatever case their address is', async () => {
  const { context, json, organization, invite } = await withInvites();
  await invite('bob@example.com');
  const other = await invite('eve@example.com');
  await json('user', 'create', '--email', 'Bob@Example.com');
  await json('member', 'add', '--organization', organization.id, '--email', 'bob@example.com');
  expect((await openInvites(context.table, organization.id)).map(({ id }) => id)).toEqual([other.id]);
});

test('a key is printed alone, so that a shell takes it as it is', async () => {
  const { run } = await withOwner();
  const { code, out, errors } = await run(
    'key',
    'create',
    '--email',
    'ada@example.com',
    '--label',
    'x',
    '--scopes',
    '*',
  );
  expect([code, out, errors]).toEqual([
    EXIT.ok,
    expect.stringMatching(/^phx_\w+\n$/),
    expect.stringContaining('not shown again'),
  ]);
});

test('keys are listed without their values, and revoked by id or by value', async () => {
  const { run, json, context } = await withOwner();
  const make = () => json('key', 'create', '--email', 'ada@example.com', '--label', 'one', '--scopes', '*');
  const [first, second] = [await make(), await make()];
  const { out } = await run('key', 'list');
  expect(out).toContain(first.id);
  expect(out).not.toContain(first.value);
  expect(await json('key', 'list', '--email', 'ada@example.com')).toHaveLength(2);

  await json('key', 'revoke', first.id);
  await json('key', 'revoke', second.value);
  expect(await findKey(context.table, sha256(first.value))).toBeUndefined();
  expect(await json('key', 'list')).toEqual([]);
  expect(await run('key', 'revoke', first.id)).toMatchObject({
    code: EXIT.failed,
    errors: 'error: There is no such key.\n',
  });
});

test.each([
  [
    'a user twice',
    ['user', 'create', '--email', 'ADA@example.com'],
    'There is already an account with this email address.',
  ],
  ['no e-mail address', ['user', 'create', '--email', 'ada'], 'Enter a valid email address.'],
  [
    'an unknown owner',
    ['organization', 'create', '--name', 'X', '--owner', 'eve@example.com'],
    'There is no user eve@example.com.',
  ],
  [
    'a blank name',
    ['organization', 'create', '--name', ' ', '--owner', 'ada@example.com'],
    'This field may not be blank.',
  ],
  [
    'an unknown scope',
    ['key', 'create', '--email', 'ada@example.com', '--label', 'x', '--scopes', 'moon:read'],
    'Invalid scope: moon:read',
  ],
  ['an unknown project', ['import', '/no/such/file', '--project', '99'], 'There is no project 99.'],
  ['a file that is not there', ['import', '/no/such/file', '--project', '1'], '/no/such/file'],
])('%s fails with one sentence and exit code 1', async (_, words, sentence) => {
  const { run } = await withOwner();
  const { code, out, errors } = await run(...words);
  expect({ code, out }).toEqual({ code: EXIT.failed, out: '' });
  expect(errors).toMatch(/^error: .*\n$/);
  expect(errors).toContain(sentence);
});

test.each([
  ['an unknown command', ['fly']],
  ['a missing option', ['user', 'create']],
  ['a level that does not exist', ['member', 'add', '--organization', 'x', '--email', 'x', '--level', 'king']],
  ['a project that is no number', ['import', 'file', '--project', 'one']],
  [
    'a key that is limited to no organization',
    ['key', 'create', '--email', 'x', '--label', 'x', '--scopes', '*', '--organizations', ''],
  ],
  [
    'a key that is limited to no project',
    ['key', 'create', '--email', 'x', '--label', 'x', '--scopes', '*', '--projects', ','],
  ],
  ['following what is no file', ['import', '-', '--follow', '--project', '1']],
])('%s is not understood: exit code 2', async (_, words) => {
  const { code, errors } = await commandLine().run(...words);
  expect(code).toBe(EXIT.usage);
  expect(errors).toMatch(/^error: /);
});

test('help is help, and not an error', async () => {
  const { code, out } = await commandLine().run('key', 'create', '--help');
  expect(code).toBe(EXIT.ok);
  expect(out).toContain('--scopes');
});

test.each([
  [['import'], 'copied to a file, to be mended'],
  [['imports', 'send'], 'kept by the service for 90 days, to be mended'],
])('help of %j tells where rejected records are', async (words, told) => {
  expect((await commandLine().run(...words, '--help')).out).toContain(told);
});

test('an import tells what was added, and what was rejected and why', async () => {
  const { run, json, context } = await withOwner();
  const file = join(context.folder, 'access.log.gz');
  const good = '10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "browser"';
  writeFileSync(file, gzipSync(`${good}\nnonsense\n`));
  const { code, out } = await run('import', file, '--project', '1');
  expect(code).toBe(EXIT.failed);
  expect(out).toContain('1 event: 1 added, 0 known already');
  expect(out).toContain(`${file}:2: `);
  // By its project: a purge of that removes it, and an import of the file into another one does not.
  expect(out).toContain(`They were copied to ${join(context.folder, 'rejected/team_id=1/')}`);
  expect(await json('import', file, '--project', '1')).toMatchObject({
    events: 1,
    added: 0,
    known: 1,
    rejected: 1,
    rejections: [{ file, line: 2, reason: expect.any(String) }],
    files: [{ file, rejected: 1, copy: expect.stringContaining(join(context.folder, 'rejected/team_id=1/')) }],
  });
});

test('what a file gets is followed until somebody stops that, who is told what was added', async () => {
  const { run, context } = await withOwner((stop) => stop.abort(new ImportStopped()));
  const file = join(context.folder, 'access.log');
  writeFileSync(file, '10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "browser"\nnonsense\n');
  const { code, out, errors } = await run('import', file, '--project', '1', '--follow');
  expect([code, out]).toEqual([EXIT.failed, 'Stopped. 1 event added, 1 record rejected.\n']);
  expect(errors).toMatch(/^1 event added, 1 record rejected \(.*\), copied to /);
});

test('an import ends with the command of the backfill that delivers it, which does', async () => {
  const { run, context, organization } = await withOwner();
  const fileOf = (name: string, day: string): string => {
    const file = join(context.folder, name);
    const lines = [1, 2].map(
      (hour) => `10.0.0.1 - - [${day}/May/2015:0${hour}:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "b"`,
    );
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  };
  const { out } = await run('import', fileOf('first.log', '17'), '--project', '1');
  expect(out).toMatch(/Project 1 has no export that delivers this\. .*\n {2}curl .*\n.*\n.*\n$/);
  expect(out).toContain('$API/api/projects/1/batch_exports/<id>/backfill/');

  const service = await testService(context);
  const user = await findUserByEmail(context.table, 'ada@example.com');
  if (user === undefined) throw new Error('not made');
  const { value: key } = await createKey(context, { user, label: 'all', scopes: ['*'] });
  const path = `/api/organizations/${organization.id}/batch_exports/`;
  const made = await service.call('POST', path, { key, body: INPUT });
  const again = (await run('import', fileOf('second.log', '18'), '--project', '1')).out.split('\n');
  expect(again.at(-5)).toBe('Export "Hourly" has passed 1 range of it; a backfill delivers them:');
  const [, target] = /curl -i -X POST \$API(\S+)/.exec(again.at(-4) ?? '') ?? [];
  const [, body = ''] = /-d '(.*)'/.exec(again.at(-2) ?? '') ?? [];
  expect(target).toBe(`/api/projects/1/batch_exports/${String(made.body?.['id'])}/backfill/`);
  expect(JSON.parse(body)).toEqual({ start_at: '2015-05-18T01:00:00Z', end_at: '2015-05-18T03:00:00Z' });
  expect((await service.call('POST', String(target), { key, body: JSON.parse(body) })).status).toBe(200);
});

test('an import has failed when anything was rejected, or could not be read to its end', async () => {
  const { run, context } = await withOwner();
  const imported = async (name: string, content: Buffer | string) => {
    const file = join(context.folder, name);
    writeFileSync(file, content);
    return (await run('import', file, '--project', '1')).code;
  };
  const event = (n: number) => `{"event": "e${n}", "distinct_id": "d", "timestamp": "2026-01-01"}\n`;
  const packed = gzipSync(event(1).repeat(100));
  expect(await imported('whole.jsonl', event(1))).toBe(EXIT.ok);
  expect(await imported('rejected.jsonl', `${event(1)}{"event": "e"}\n`)).toBe(EXIT.failed);
  expect(await imported('cut.jsonl.gz', packed.subarray(0, packed.length - 9))).toBe(EXIT.failed);
  expect(await imported('unknown.bin', 'what is this')).toBe(EXIT.failed);
});

test('an import that is interrupted gives its claim back, and says how to go on', async () => {
  const { run, context, stop } = await withOwner();
  const file = join(context.folder, 'events.jsonl');
  writeFileSync(file, '{"event": "e", "distinct_id": "d", "timestamp": "2026-01-01"}\n');
  stop.abort(new ImportStopped());
  expect(await run('import', file, '--project', '1')).toEqual({
    code: EXIT.interrupted,
    out: '',
    errors: 'error: The import was stopped. What it has added stays; the same command adds the rest.\n',
  });
  expect(await context.table.get(keys.lease(1))).toBeUndefined();
});

test('an import of a table is told which column is which', async () => {
  const { run, json, context } = await withOwner();
  const file = join(context.folder, 'table.csv');
  writeFileSync(file, 'Who;When;a=b\nada;2026-01-01;1\n');
  const words = ['import', file, '--project', '1', '--value', 'event=paid', '--column', 'distinct_id=Who'];
  expect((await run(...words)).out).toContain('in no known format');
  expect((await run(...words, '--format', 'csv')).out).toContain('no column says what timestamp is');
  const mapped = [...words, '--column', 'timestamp=When', '--column', 'properties.c=a=b'];
  expect(await json(...mapped)).toMatchObject({ events: 1, added: 1, files: [{ format: 'csv' }] });
  expect((await run(...words, '--column', 'timestamp')).errors).toContain('field=text');
  expect((await run(...words, '--column', 'when=When')).errors).toContain('when is no field');
});

test('status tells what is there', async () => {
  const { json, run, organization } = await withOwner();
  expect(await json('status')).toMatchObject({
    users: 1,
    organizations: [{ id: organization.id, projects: [{ id: 1, name: 'Default project' }] }],
    running_executions: [],
    due_jobs: [],
  });
  const { out } = await run('status');
  expect(out).toContain('Version 1.2.3\n');
  expect(out).toContain('\n1 user\nOrganization');
  expect(out).toContain('\n0 jobs due\n');
});

test('the program tells its version', async () => {
  expect(await commandLine().run('--version')).toEqual({ code: EXIT.ok, out: '1.2.3\n', errors: '' });
});

test('doctor reads all that is kept, and names what is damaged', async () => {
  const { json, run, context } = await withOwner();
  const { lake, runFiles } = context;
  for (const day of [1, 2, 3]) {
    const file = join(context.folder, `${day}.jsonl`);
    const event = {
      event: 'e',
      distinct_id: 'd',
      timestamp: `2020-01-0${day}T10:00:00Z`,
      properties: { $set: { day } },
    };
    writeFileSync(file, JSON.stringify(event));
    await json('import', file, '--project', '1', '--arrived', 'then');
  }
  await keepReceiptFile(context, 'export-1', 0, { bytes: 1 });
  await runFiles.write('export-1/1/interval_number=0/part', 'of Athena');
  expect(await json('doctor')).toMatchObject({ lake_files: 6, without_digest: 0, run_files: 1, problems: [] });
  expect(await run('doctor')).toMatchObject({
    code: EXIT.ok,
    out: expect.stringContaining('All is as it was written.'),
  });

  const [first, second] = await allFiles(context.table, 1, 'events');
  const paths = [first?.path ?? '', second?.path ?? ''] as const;
  await lake.remove(paths[0]);
  const content = (await lake.read(paths[1])) as Buffer;
  content[content.length - 20] = (content[content.length - 20] as number) ^ 128;
  await lake.write(paths[1], content);
  const receipt = 'export-1/receipt-0.json';
  await runFiles.write(receipt, String(await runFiles.read(receipt)).replace('"bytes":1', '"bytes":2'));
  const { problems } = await json('doctor');
  expect(problems).toEqual([
    { path: `lake/${paths[0]}`, problem: expect.stringContaining('no such file') },
    { path: `lake/${paths[1]}`, problem: 'it is not what was written' },
    { path: `runs/${receipt}`, problem: 'it is not what was written' },
  ]);
  const { code, out } = await run('doctor');
  expect(code).toBe(EXIT.failed);
  expect(out).toContain(`3 damaged:\n  lake/${paths[0]}: `);
});

test('doctor names a file of a run that the disk does not give, and goes on', async () => {
  const context = testContext();
  await context.runFiles.write('run/a.json', '{}');
  const broken = { code: 'EIO' };
  const runFiles = {
    ...context.runFiles,
    read: () => Promise.reject(Object.assign(new Error('EIO: i/o error, read'), broken)),
  };
  const inboxProblems = async () => [{ path: 'inbox/1.inbox', problem: 'the disk cannot read it' }];
  const found = await doctor({ ...context, runFiles, inboxProblems }, silentProgress());
  expect(found).toMatchObject({
    failed: true,
    text: expect.stringContaining('2 damaged:\n  runs/run/a.json: the disk cannot read it\n  inbox/1.inbox: '),
  });
});

test('doctor counts a table that cannot be read as a problem', async () => {
  const context = testContext();
  const unreadable = async () => Promise.reject(new Error('database disk image is malformed'));
  const table = tableWith(context.table, { many: unreadable, list: unreadable, get: unreadable });
  const found = await doctor({ ...context, table, tableProblems: () => ['it is malformed'] }, silentProgress());
  expect(found).toMatchObject({
    failed: true,
    text: expect.stringContaining('1 damaged:\n  workspace.db: it is malformed'),
  });
});

test('a command is for this machine, or for the stage that it names, wherever in the line', async () => {
  const context = testContext();
  const opened: (string | undefined)[] = [];
  const run = (...words: string[]) =>
    runAdmin(words, {
      ...SURROUNDINGS,
      open: async (stage) => {
        opened.push(stage);
        return { ...context, close: () => {} };
      },
    });
  for (const words of [['status'], ['--stage', 'dev', 'key', 'list'], ['key', 'list', '--stage', 'dev']])
    await run(...words);
  expect(opened).toEqual([undefined, 'dev', 'dev']);
});

describe('the documentation', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'docs/command-line.md', 'docs/deploy.md', 'docs/operations.md'].map(
    (page) => [page, readFileSync(join(ROOT, page), 'utf8')] as const,
  );
  /** What follows `npm run -s admin --` or `npx workspace` in a page, up to a remark or the end of the code. */
  const shown = pages.flatMap(([page, text]) =>
    [...text.matchAll(/(?:npm run -s admin --|npx workspace) (?!start|<)([a-z-][^`#\n]+)/g)].map(
      ([, words = '']) => [page, words.trim()] as const,
    ),
  );

  test.each(shown)('%s: `%s` is understood', async (_, text) => {
    const words = text.match(/'[^']*'|<[^>]*>|\S+/g)?.map((word) => word.replaceAll("'", '')) ?? [];
    let complaint = '';
    const code = await runAdmin(words, {
      ...SURROUNDINGS,
      open: () => Promise.reject(new Error('understood')),
      complain: (said) => {
        complaint += said;
      },
    });
    const isHelp = words.includes('--help');
    expect([code, complaint]).toEqual(isHelp ? [EXIT.ok, ''] : [EXIT.failed, 'error: understood\n']);
  });

  test('names only scripts that there are', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const named = pages.flatMap(([, text]) => [...text.matchAll(/npm run (?:-s )?([a-z:]+)/g)].map(([, name]) => name));
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  });
});

test('what an operator does is told in the log of the organization, with neither user nor key', async () => {
  const { context, run, json, organization } = await withOwner();
  await run('user', 'create', '--email', 'bob@example.com');
  await run('member', 'add', '--organization', organization.id, '--email', 'bob@example.com', '--level', 'admin');
  const key = await json('key', 'create', '--email', 'bob@example.com', '--label', 'CI', '--scopes', '*');
  await run('key', 'revoke', key.id);
  const { items } = await context.table.list(ranges.activityOf(organization.id), { limit: 10 });
  expect(items.map(({ scope, activity, item_id }) => [scope, activity, item_id]).toReversed()).toEqual([
    ['Organization', 'created', organization.id],
    ['OrganizationMembership', 'created', (await findUserByEmail(context.table, 'bob@example.com'))?.uuid],
    ['PersonalAPIKey', 'created', key.id],
    ['PersonalAPIKey', 'deleted', key.id],
  ]);
  for (const item of items) expect(item).toMatchObject({ user_uuid: null, key_mask: null, request_id: null });
});
