/** What a person may set on one machine: one table of variables, which docs/operate-one-machine.md shows too. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { isLevel, type Level } from '../../lib/ports/log.ts';
import { LOCAL_SETTINGS, type Settings } from '../../lib/ports/settings.ts';

/** What a text is read as that is no value of the variable. */
const INVALID = Symbol('invalid');

interface Kind<Value> {
  /** What a value must be, after the name of the variable. */
  readonly must: string;
  readonly read: (text: string) => Value | typeof INVALID;
}

interface Variable<Value> extends Kind<Value> {
  /** What holds where it is not set. */
  readonly fallback: string;
  /** What holds instead where requests may come from other machines, which is where `HOST` is no loopback address. */
  readonly guarded?: string;
  /** What it is for, as the table of the docs says it. */
  readonly about: string;
  /** Its value is never repeated. */
  readonly isSecret?: true;
}

const anyText: Kind<string> = { must: 'be a text', read: (text) => text };

const isOn: Kind<boolean> = {
  must: 'be on or off',
  read: (text) => (text === 'on' || text === 'off' ? text === 'on' : INVALID),
};

const wholeNumber = (from: number, to: number): Kind<number> => ({
  must: `be a number from ${from} to ${to}`,
  read: (text) => (/^\d{1,15}$/.test(text) && Number(text) >= from && Number(text) <= to ? Number(text) : INVALID),
});

/** The same, or the word for null. */
const or = <Value>(word: string, { must, read }: Kind<Value>): Kind<Value | null> => ({
  must: `${must}, or ${word}`,
  read: (text) => (text === word ? null : read(text)),
});

const level: Kind<Level> = {
  must: 'be DEBUG, INFO, WARNING or ERROR',
  read: (text) => {
    const upper = text.toUpperCase();
    return isLevel(upper) ? upper : INVALID;
  },
};

const folders: Kind<Settings['folderRoots']> = {
  must: `be any, none, or absolute paths with '${delimiter}' between them`,
  read: (text) => {
    if (text === 'any') return null;
    if (text === 'none') return undefined;
    const roots = text.split(delimiter);
    return roots.every(isAbsolute) ? roots.map((root) => resolve(root)) : INVALID;
  },
};

const address: Kind<string> = {
  must: 'be an address such as https://analytics.example.com',
  read: (text) => {
    const url = URL.parse(text);
    const isPlain = url !== null && /^https?:$/.test(url.protocol) && !/[?#@]/.test(text);
    return isPlain ? url.href.replace(/\/+$/, '') : INVALID;
  },
};

const program: Kind<string> = {
  must: 'be the absolute path of a program that this machine has',
  read: (text) => (isAbsolute(text) && isProgram(text) ? text : INVALID),
};

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** `user@example.com`, or with a name before it. */
const sender: Kind<string> = {
  must: 'be an e-mail address such as analytics@example.com',
  read: (text) => (/^(?:[^<>"\r\n]+ <)?[^\s<>@]+@[\w.-]+>?$/.test(text) ? text : INVALID),
};

const mailServer: Kind<string> = {
  must: 'be an address such as smtp://user:password@mail.example.com:587',
  read: (text) => {
    const url = URL.parse(text);
    return url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== '' ? text : INVALID;
  },
};

const destinationTypes: Kind<readonly string[]> = {
  must: `be names with ',' between them, of ${LOCAL_SETTINGS.destinations.join(', ')}`,
  read: (text) => {
    const names = text.split(',').map((name) => name.trim());
    return names.every((name) => LOCAL_SETTINGS.destinations.includes(name)) ? names : INVALID;
  },
};

const variable = <Value>(kind: Kind<Value>, rest: Omit<Variable<Value>, keyof Kind<Value>>): Variable<Value> => ({
  ...kind,
  ...rest,
});

const { settleSeconds, historyDays, backfillConcurrency, deliveryConcurrency, logDays, runDays } = LOCAL_SETTINGS;

/** Every variable, in the order of the docs. */
export const VARIABLES = {
  WORKSPACE_HOME: variable(anyText, {
    fallback: '.workspace',
    about: 'the data directory, where all state is kept',
  }),
  HOST: variable(anyText, {
    fallback: '127.0.0.1',
    about: 'the address on which the service listens',
  }),
  PORT: variable(wholeNumber(0, 65_535), {
    fallback: '8010',
    about: 'its port; `0` is any that is free',
  }),
  PUBLIC_URL: variable(or('none', address), {
    fallback: 'none',
    about: 'the address under which callers know the service, such as that of a proxy before it; links lead there',
  }),
  SMTP_URL: variable(or('none', mailServer), {
    fallback: 'none',
    about: 'the server that carries mail of alerts and subscriptions; `smtps:` is TLS from the beginning',
    isSecret: true,
  }),
  MAIL_FROM: variable(or('none', sender), {
    fallback: 'none',
    about: 'who that mail is from, such as `Analytics <analytics@example.com>`',
  }),
  LOG_LEVEL: variable(level, {
    fallback: 'INFO',
    about: 'the least level that is logged: `DEBUG`, `INFO`, `WARNING` or `ERROR`',
  }),
  RATE_LIMIT: variable(isOn, {
    fallback: 'on',
    about: '`off` lifts the limit of 10,000 requests a second, and those of [SDKs](capture.md#limits)',
  }),
  PROXIES: variable(wholeNumber(0, 9), {
    fallback: '0',
    about:
      'how many proxies stand before the service, each of which adds whom it serves to `X-Forwarded-For`; it tells the ' +
      'addresses of SDKs, and of those who try passwords, apart',
  }),
  EVENTS_PER_DAY: variable(or('any', wholeNumber(1, 1e12)), {
    fallback: 'any',
    about: 'captured events of one project that are taken in a day (UTC), about; more are dropped and counted',
  }),
  IMPORT_BYTES: variable(or('any', wholeNumber(1_000_000, 1e15 - 1)), {
    fallback: String(LOCAL_SETTINGS.importBytes),
    about: 'bytes that a file which is uploaded to be imported has at most',
  }),
  FOLDER_ROOTS: variable(folders, {
    fallback: 'any',
    guarded: 'none',
    about:
      `folders that exports may write to, with \`${delimiter}\` between them, each organization below the folder that ` +
      'its id names; `any` is anywhere, `none` offers no Folder',
  }),
  PRIVATE_ADDRESSES: variable(isOn, {
    fallback: 'on',
    guarded: 'off',
    about: 'whether exports and webhooks may connect to loopback, link-local and private addresses',
  }),
  JOBS: variable(isOn, {
    fallback: 'on',
    about:
      '`off`: nothing that is due is begun, nor gone on with: no runs of exports, no imports, no alerts, no mails; to ' +
      '[try a restore](#backup-and-restore)',
  }),
  CHROMIUM: variable(or('none', program), {
    fallback: 'none',
    about: 'the path of a Chromium or Chrome, which makes `.png` and `.pdf` of shared pages, and the pictures in mails',
  }),
  METRICS: variable(isOn, {
    fallback: 'on',
    guarded: 'off',
    about:
      'whether `/metrics` tells the numbers of the service to whoever asks; at a loopback address only under a name of loopback, so that no page of a browser reads them',
  }),
  DESTINATIONS: variable(destinationTypes, {
    fallback: LOCAL_SETTINGS.destinations.join(','),
    about: 'the types of destination that are offered',
  }),
  DELIVERY_CONCURRENCY: variable(wholeNumber(1, 96), {
    fallback: String(deliveryConcurrency),
    about: 'intervals of one batch that are delivered at the same time',
  }),
  BACKFILL_CONCURRENCY: variable(wholeNumber(1, 40), {
    fallback: String(backfillConcurrency),
    about: 'batches of one backfill that run at the same time',
  }),
  MAX_INTERVAL_BYTES: variable(or('any', wholeNumber(1_000_000, 1e15 - 1)), {
    fallback: String(LOCAL_SETTINGS.maxIntervalBytes),
    about: 'stored bytes that one run delivers at most; a larger interval fails at once. `any` lifts it',
  }),
  SETTLE_SECONDS: variable(wholeNumber(0, 3_600), {
    fallback: String(settleSeconds),
    about: 'an interval is delivered this long after its end',
  }),
  SPREAD: variable(isOn, {
    fallback: 'off',
    about: 'whether exports of one frequency start after one another (hourly ones within 15 minutes), not all at once',
  }),
  HISTORY_DAYS: variable(wholeNumber(0, 36_500), {
    fallback: String(historyDays),
    about: 'imported events that are older than the first export by this much arrive when they happened',
  }),
  LOG_DAYS: variable(wholeNumber(1, 36_500), {
    fallback: String(logDays),
    about: 'the log of an export is kept for this long',
  }),
  RUN_DAYS: variable(or('forever', wholeNumber(7, 36_500)), {
    fallback: String(runDays),
    about: 'runs and backfills are kept for this long, or `forever`',
  }),
} as const;

type Name = keyof typeof VARIABLES;
type Values = { readonly [N in Name]: Exclude<ReturnType<(typeof VARIABLES)[N]['read']>, typeof INVALID> };

/** Variables hold what they may not; the message has a sentence a line, each with what to write instead. */
class InvalidVariables extends Error {
  override readonly name = 'InvalidVariables';
}

/** What one machine runs with. */
export interface Choices {
  /** The absolute path of the data directory. */
  readonly folder: string;
  readonly host: string;
  readonly port: number;
  readonly logLevel: Level;
  readonly hasRateLimit: boolean;
  readonly hasMetrics: boolean;
  readonly hasJobs: boolean;
  readonly proxies: number;
  /** The server that carries mail; null: none is sent. */
  readonly mailServer: string | null;
  readonly settings: Settings;
}

/** Returns what the variables choose; one that is empty counts as not set. Throws `InvalidVariables`. */
export function choicesOf(environment: NodeJS.ProcessEnv): Choices {
  const isGuarded = !isLoopback(environment['HOST'] || VARIABLES.HOST.fallback);
  const wrong: string[] = [];
  const values = Object.fromEntries(
    Object.entries(VARIABLES).map(
      ([name, { fallback, guarded = fallback, must, read, isSecret }]: [string, Variable<unknown>]) => {
        const text = environment[name] || (isGuarded ? guarded : fallback);
        const value = read(text);
        if (value === INVALID) wrong.push(`${name} must ${must}${isSecret ? '' : `, not "${text}"`}.`);
        return [name, value];
      },
    ),
  ) as Values;
  if ((values.SMTP_URL === null) !== (values.MAIL_FROM === null)) {
    wrong.push('SMTP_URL and MAIL_FROM must be set together: mail needs a server and a sender.');
  }
  if (wrong.length > 0) throw new InvalidVariables(wrong.join('\n'));
  return {
    folder: resolve(values.WORKSPACE_HOME),
    host: values.HOST,
    port: values.PORT,
    logLevel: values.LOG_LEVEL,
    hasRateLimit: values.RATE_LIMIT,
    hasMetrics: values.METRICS,
    hasJobs: values.JOBS,
    proxies: values.PROXIES,
    mailServer: values.SMTP_URL,
    settings: {
      ...LOCAL_SETTINGS,
      publicUrl: values.PUBLIC_URL,
      chromium: values.CHROMIUM,
      mailFrom: values.MAIL_FROM,
      eventsPerDay: values.EVENTS_PER_DAY,
      importBytes: values.IMPORT_BYTES,
      folderRoots: values.FOLDER_ROOTS,
      privateAddresses: values.PRIVATE_ADDRESSES,
      destinations: values.DESTINATIONS,
      deliveryConcurrency: values.DELIVERY_CONCURRENCY,
      backfillConcurrency: values.BACKFILL_CONCURRENCY,
      maxIntervalBytes: values.MAX_INTERVAL_BYTES,
      settleSeconds: values.SETTLE_SECONDS,
      isSpread: values.SPREAD,
      historyDays: values.HISTORY_DAYS,
      logDays: values.LOG_DAYS,
      runDays: values.RUN_DAYS,
    },
  };
}

/** Returns the address of a service that listens on a host. */
export const addressAt = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Returns whether only this machine can send requests to the address. A name is not looked up. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
}
