import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/context.ts';

const ROOT = join(import.meta.dirname, '../../..');

const workspace = (root: string, ...words: string[]) =>
  spawnSync(process.execPath, [join(root, 'infra/local/bin/workspace.js'), ...words], {
    encoding: 'utf8',
    env: { ...process.env, WORKSPACE_HOME: temporaryFolder(), PORT: 'none' },
  });

test('the program runs the service and the command line', () => {
  expect(workspace(ROOT, 'start')).toMatchObject({
    status: 1,
    stderr: 'PORT must be a number from 0 to 65535, not "none".\n',
  });
  expect(workspace(ROOT, '--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('backup') });
});

test('the start takes no words: it is told what it is, and what it does not know is refused', () => {
  expect(workspace(ROOT, '--help').stdout).toMatch(/^ {2}start +Run the service/m);
  expect(workspace(ROOT, 'start', '--help')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('Usage: workspace start'),
  });
  expect(workspace(ROOT, 'start', '--port', '8011')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("unknown option '--port'"),
  });
});

test('it runs from node_modules too, where Node.js takes no TypeScript, and says nothing of that', () => {
  const modules = join(temporaryFolder(), 'node_modules');
  const installed = join(modules, 'workspace');
  mkdirSync(installed, { recursive: true });
  for (const name of ['functions', 'infra/build', 'infra/local', 'lib', 'package.json']) {
    cpSync(join(ROOT, name), join(installed, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
  expect(workspace(installed, 'start')).toMatchObject({
    status: 1,
    stderr: 'PORT must be a number from 0 to 65535, not "none".\n',
  });
});

test('where it starts a newer Node.js, what a manager of processes tells it alone is passed on', async () => {
  const installed = join(temporaryFolder(), 'node_modules/workspace');
  cpSync(join(ROOT, 'infra/local/bin'), join(installed, 'infra/local/bin'), { recursive: true });
  const program = "process.on('SIGINT', () => process.exit(7)); console.log('up'); setInterval(() => {}, 1_000);";
  writeFileSync(join(installed, 'infra/local/main.ts'), program);
  const child = spawn(process.execPath, [join(installed, 'infra/local/bin/workspace.js'), 'start'], { stdio: 'pipe' });
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([7, null]);
});

test('where it starts a newer Node.js, that one is told when the program is killed', async () => {
  const installed = join(temporaryFolder(), 'node_modules/workspace');
  cpSync(join(ROOT, 'infra/local/bin'), join(installed, 'infra/local/bin'), { recursive: true });
  const program =
    "process.once('disconnect', () => console.log('left alone')); console.log(process.connected ? 'up' : 'alone');";
  writeFileSync(join(installed, 'infra/local/main.ts'), program);
  const child = spawn(process.execPath, [join(installed, 'infra/local/bin/workspace.js'), 'start'], { stdio: 'pipe' });
  const [started] = await once(child.stdout, 'data');
  expect(String(started)).toBe('up\n');
  child.kill('SIGKILL');
  const [told] = await once(child.stdout, 'data');
  expect(String(told)).toBe('left alone\n');
});

test('what an install without development dependencies brings runs on Node.js 20', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { engines?: { node?: string }; dev?: boolean; optional?: boolean }>;
  };
  const needsMore = Object.entries(packages).filter(([, { engines, dev = false, optional = false }]) => {
    const ranges = (engines?.node ?? '*').split('||').map((range) => range.trim());
    return !dev && !optional && !ranges.some((range) => range === '*' || takes20(range));
  });
  expect(needsMore.map(([path]) => path)).toEqual([]);
  expect(packages['node_modules/node']).not.toHaveProperty('dev');
});

/** Returns whether a range such as `>=18`, `^20.1` or `20 || 22` begins at or below Node.js 20 and reaches it. */
function takes20(range: string): boolean {
  const [, operator = '', major = ''] = /^(>=?|\^|~)?\s*v?(\d+)/.exec(range) ?? [];
  return operator.startsWith('>') ? Number(major) <= 20 : Number(major) === 20;
}

test('the image and the unit run it so that signals reach it, and look where the service answers', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  expect(dockerfile).toContain('CMD ["node", "infra/local/bin/workspace.js", "start"]');
  expect(dockerfile).toMatch(/^USER node$/m);
  expect(dockerfile).toMatch(/^HEALTHCHECK .*\n.*\/_health/m);
  const copied = [...dockerfile.matchAll(/^COPY (?:\S+ )*?([\w/.-]+) \S+$/gm)].map(([, path = '']) => path);
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
  for (const path of copied.filter((name) => !name.startsWith('/'))) expect(ignored).toContain(`!${path}`);
  const unit = readFileSync(join(ROOT, 'infra/local/workspace.service'), 'utf8');
  expect(unit).toMatch(/^ExecStart=.* node infra\/local\/bin\/workspace\.js start$/m);
  expect(unit).toMatch(/^KillMode=mixed$/m);
  // A clock that is ahead for a moment would move all schedules there.
  expect(unit).toMatch(/^Wants=.*\btime-sync\.target$/m);
  expect(unit).toMatch(/^After=.*\btime-sync\.target$/m);
});

test('commands that are documented for systemd run as its unit does: user, folder, mask, and variables from the same file', () => {
  const page = readFileSync(join(ROOT, 'docs/operate-one-machine.md'), 'utf8');
  const unit = readFileSync(join(ROOT, 'infra/local/workspace.service'), 'utf8');
  const [, command = ''] = /^workspace\(\) \{.*\n([^}]*)\}/m.exec(page) ?? [];
  for (const name of ['User', 'WorkingDirectory', 'UMask', 'EnvironmentFile']) {
    const [line = 'none'] = new RegExp(`^${name}=.*$`, 'm').exec(unit) ?? [];
    expect(command).toContain(`-p ${line} `);
  }
  const [home = 'none'] = /\bWORKSPACE_HOME=\S+/.exec(unit) ?? [];
  expect(command).toContain(`-E ${home} `);
  expect(command).toContain(`${/^ExecStart=(.*) start$/m.exec(unit)?.[1]} "$@"`);
  expect(page).not.toContain('sudo -u workspace');
});

test('who runs it where it may not write gets the console as the image has it, also after an upgrade', () => {
  expect(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).toMatch(/^RUN node infra\/build\/console\.ts$/m);
  const page = readFileSync(join(ROOT, 'docs/operate-one-machine.md'), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = '']) => commands);
  const made = blocks.filter((commands) => commands.includes('/opt/workspace && cd') || commands.includes('git pull'));
  expect(made).toHaveLength(2);
  for (const commands of made) expect(commands).toMatch(/npm install --omit=dev && npm run console/);
});
