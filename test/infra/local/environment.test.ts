import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { choicesOf, VARIABLES } from '../../../infra/local/environment.ts';
import { DESTINATIONS } from '../../../lib/exports/destinations/index.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';

const ROOT = join(import.meta.dirname, '../../..');

test('nothing set is the local settings, on loopback', () => {
  expect(choicesOf({})).toEqual({
    folder: resolve('.workspace'),
    host: '127.0.0.1',
    port: 8010,
    logLevel: 'INFO',
    hasRateLimit: true,
    hasMetrics: true,
    hasJobs: true,
    proxies: 0,
    mailServer: null,
    settings: LOCAL_SETTINGS,
  });
});

test('every setting is set by a variable, but for those that are nobody’s to set', () => {
  const all = choicesOf({
    FOLDER_ROOTS: '/srv/a:/srv/b/',
    PRIVATE_ADDRESSES: 'off',
    DESTINATIONS: 'S3, HTTP',
    DELIVERY_CONCURRENCY: '7',
    BACKFILL_CONCURRENCY: '5',
    MAX_INTERVAL_BYTES: 'any',
    SETTLE_SECONDS: '1',
    SPREAD: 'on',
    HISTORY_DAYS: '3',
    LOG_DAYS: '31',
    RUN_DAYS: 'forever',
    EVENTS_PER_DAY: '1000000',
    IMPORT_BYTES: 'any',
    PROXIES: '2',
    JOBS: 'off',
    LOG_LEVEL: 'warning',
    PUBLIC_URL: 'https://Analytics.example.com/ws/',
    CHROMIUM: process.execPath,
    SMTP_URL: 'smtp://me:secret@mail.example.com:587',
    MAIL_FROM: 'Analytics <analytics@example.com>',
  });
  const mailServer = 'smtp://me:secret@mail.example.com:587';
  expect(all).toMatchObject({ logLevel: 'WARNING', proxies: 2, hasJobs: false, mailServer });
  const { settings } = all;
  expect(settings).toMatchObject({ folderRoots: ['/srv/a', '/srv/b'], destinations: ['S3', 'HTTP'], runDays: null });
  expect(settings.publicUrl).toBe('https://analytics.example.com/ws');
  const unchanged = Object.entries(settings).filter(([name, value]) => value === Reflect.get(LOCAL_SETTINGS, name));
  expect(unchanged.map(([name]) => name).toSorted()).toEqual([
    'answerBytes',
    'cancelSeconds',
    'dataDirectory',
    'organizationIntervals',
    'organizationsPerUser',
    'queryBytes',
    'queryTurns',
    'requestsPerKey',
    'scanPrice',
    'strictAnswers',
  ]);
});

test.each([
  ['127.0.0.1', null, true],
  ['127.3.2.1', null, true],
  ['localhost', null, true],
  ['::1', null, true],
  ['::ffff:127.0.0.1', null, true],
  ['0.0.0.0', undefined, false],
  ['::', undefined, false],
  ['10.0.0.5', undefined, false],
  ['workspace.example.com', undefined, false],
])('on %s, folders and private addresses are as safe as the address asks', (HOST, folderRoots, privateAddresses) => {
  expect(choicesOf({ HOST }).hasMetrics).toBe(privateAddresses);
  expect(choicesOf({ HOST }).settings).toMatchObject({ privateAddresses, folderRoots });
  const chosen = choicesOf({ HOST, FOLDER_ROOTS: 'any', PRIVATE_ADDRESSES: 'on' });
  expect(chosen.settings).toMatchObject({ folderRoots: null, privateAddresses: true });
});

test('what is wrong is told in sentences, all at once', () => {
  const wrong = {
    PORT: '80100',
    RATE_LIMIT: 'no',
    LOG_LEVEL: 'loud',
    FOLDER_ROOTS: 'exports',
    PUBLIC_URL: 'analytics.example.com',
    SMTP_URL: 'https://me:secret@mail.example.com',
    PRIVATE_ADDRESSES: 'true',
    DESTINATIONS: 'S3,FTP',
    SETTLE_SECONDS: '-1',
    RUN_DAYS: '3',
  };
  expect(() => choicesOf(wrong)).toThrow(
    [
      'PORT must be a number from 0 to 65535, not "80100".',
      'PUBLIC_URL must be an address such as https://analytics.example.com, or none, not "analytics.example.com".',
      'SMTP_URL must be an address such as smtp://user:password@mail.example.com:587, or none.',
      'LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not "loud".',
      'RATE_LIMIT must be on or off, not "no".',
      `FOLDER_ROOTS must be any, none, or absolute paths with ':' between them, not "exports".`,
      'PRIVATE_ADDRESSES must be on or off, not "true".',
      `DESTINATIONS must be names with ',' between them, of ${DESTINATIONS.map(({ type }) => type).join(', ')}, not "S3,FTP".`,
      'SETTLE_SECONDS must be a number from 0 to 3600, not "-1".',
      'RUN_DAYS must be a number from 7 to 36500, or forever, not "3".',
      'SMTP_URL and MAIL_FROM must be set together: mail needs a server and a sender.',
    ].join('\n'),
  );
});

test.each(['chromium', '/nope', '/', join(ROOT, 'package.json')])(
  'Chromium is a program of the machine, not %s',
  (CHROMIUM) => {
    expect(() => choicesOf({ CHROMIUM })).toThrow(
      `CHROMIUM must be the absolute path of a program that this machine has, or none, not "${CHROMIUM}".`,
    );
  },
);

test('the docs have the same table', () => {
  const rows = Object.entries(VARIABLES).map(([name, variable]) => {
    const guarded = 'guarded' in variable ? `; \`${variable.guarded}\` when \`HOST\` is not loopback` : '';
    return `| \`${name}\` | \`${variable.fallback}\`${guarded} | ${variable.about} |`;
  });
  const lines = readFileSync(join(ROOT, 'docs/operate-one-machine.md'), 'utf8').split('\n');
  const start = lines.indexOf('| variable | default | |') + 2;
  expect(lines.slice(start, lines.indexOf('', start))).toEqual(rows);
});
