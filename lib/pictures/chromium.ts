/**
 * Pictures of pages by a Chromium of the machine: a process for each picture, which is killed when it has made it, takes
 * too long or too much memory. It has no way to any network, and runs no script.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Recent } from '../basics/recent.ts';
import { messageOf } from '../basics/text.ts';
import { SECOND_MS } from '../basics/units.ts';
import type { Log } from '../ports/log.ts';
import { residentBytes } from '../workers/memory.ts';
import { failFull, LineFull, type TurnLimits, Turns } from '../workers/turns.ts';
import { devtools } from './devtools.ts';
import { type Page, PictureFailed, type Pictures } from './pictures.ts';

interface ChromiumOptions {
  /** The path of the program. */
  readonly program: string;
  /** Of which it is given where it finds programs, libraries and fonts. */
  readonly environment: NodeJS.ProcessEnv;
  /** Where it keeps what it needs while it runs. */
  readonly folder: string;
  readonly log: Pick<Log, 'warning'>;
  /** A picture takes so long at most. */
  readonly mostMs?: number;
}

const TURNS: TurnLimits = { atOnce: 1, each: 1, waiting: { each: 4, all: 16 } };
const MOST_MS = 20 * SECOND_MS;
/** Of all its processes together, which share much of it. */
const MOST_MEMORY_BYTES = 1_500_000_000;
const LOOK_MS = 100;
/** Pictures that were made last are given again. */
const MAX_KEPT_BYTES = 32_000_000;

/** A small screen, at two dots for each pixel. A picture is so high at most, in pixels of the page. */
const SCREEN = { width: 1200, height: 800 };
const SCALE = 2;
const MAX_HEIGHT = 8_000;
/** A4, in inches. */
const PAPER = {
  paperWidth: 8.27,
  paperHeight: 11.69,
  marginTop: 0.4,
  marginBottom: 0.4,
  marginLeft: 0.4,
  marginRight: 0.4,
};

const GIVEN = ['PATH', 'LD_LIBRARY_PATH', 'FONTCONFIG_PATH', 'LANG'] as const;

const ARGUMENTS = [
  '--headless',
  '--remote-debugging-pipe',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-extensions',
  '--disable-sync',
  '--no-first-run',
  '--hide-scrollbars',
  '--mute-audio',
  // No name has an address, and there is nothing to connect to.
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--proxy-server=127.0.0.1:9',
];

export function chromiumPictures({ program, environment, folder, log, mostMs = MOST_MS }: ChromiumOptions): Pictures {
  const given = Object.fromEntries(GIVEN.map((name) => [name, environment[name]]));
  const turns = new Turns(TURNS);
  const kept = new Recent<Buffer>(MAX_KEPT_BYTES, ({ length }) => length);
  const under = new Map<string, Making>();

  const made = async (page: Page): Promise<Buffer> => {
    mkdirSync(folder, { recursive: true });
    const own = await mkdtemp(join(folder, 'picture-'));
    // Its own sandbox needs another user than root.
    const flags = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const child = spawn(program, [...ARGUMENTS, ...flags, `--user-data-dir=${own}`], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
      // Its processes are one group, which is killed as a whole.
      detached: true,
      env: { ...given, HOME: own, TMPDIR: own },
    });
    const ended = endOf(child);
    const watch = watched(child, mostMs);
    try {
      return await Promise.race([drawn(child, page), ended, watch.failed]);
    } finally {
      watch.stop();
      kill(child);
      await ended.catch(() => {});
      await rm(own, { recursive: true, force: true }).catch(() => {});
    }
  };

  return {
    make: async (page, callerLeft) => {
      callerLeft?.throwIfAborted();
      const name = hash('sha256', `${page.form} ${page.size?.width} ${page.size?.height} ${page.html}`);
      const known = kept.get(name);
      if (known !== undefined) return known;
      const another = under.get(name);
      if (another !== undefined) return joined(another, callerLeft);
      const left = new AbortController();
      const making = turns
        .run(page.owner, () => made(page), left.signal)
        .then((bytes) => {
          kept.set(name, bytes);
          return bytes;
        })
        .catch((error: unknown) => {
          if (error instanceof LineFull) failFull('Many pictures are being made.');
          if (!left.signal.aborted) log.warning('a picture was not made', { reason: messageOf(error) });
          throw error;
        })
        .finally(() => {
          if (under.get(name) === one) under.delete(name);
        });
      const one: Making = { making, left, callers: 0 };
      left.signal.addEventListener('abort', () => under.delete(name));
      under.set(name, one);
      return joined(one, callerLeft);
    },
  };
}

/** A picture that is being made, or waits for its turn, for some callers. */
interface Making {
  readonly making: Promise<Buffer>;
  /** Aborted when all of them have left. */
  readonly left: AbortController;
  callers: number;
}

/** Returns the picture to one more caller, whose leaving is told when no other one is there. */
async function joined(one: Making, callerLeft: AbortSignal | undefined): Promise<Buffer> {
  const leave = (): void => {
    one.callers -= 1;
    if (one.callers === 0) one.left.abort(callerLeft?.reason);
  };
  one.callers += 1;
  callerLeft?.addEventListener('abort', leave);
  try {
    return await one.making;
  } finally {
    callerLeft?.removeEventListener('abort', leave);
  }
}

/** Makes the bytes of a page in a browser that has just been started. */
async function drawn(child: ChildProcess, { html, form, size = SCREEN }: Page): Promise<Buffer> {
  const browser = devtools(child);
  const { targetId } = await browser.call('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await browser.call('Target.attachToTarget', { targetId, flatten: true });
  const call = (method: string, input: object = {}) => browser.call(method, input, String(sessionId));
  await call('Emulation.setScriptExecutionDisabled', { value: true });
  await call('Network.enable');
  const nothing = { latency: 0, downloadThroughput: 0, uploadThroughput: 0 };
  await call('Network.emulateNetworkConditions', { offline: true, ...nothing });
  await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'light' }] });
  await call('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: SCALE, mobile: false });
  const { frameTree } = await call('Page.getFrameTree');
  const { frame } = frameTree as { frame: { id: string } };
  await call('Page.setDocumentContent', { frameId: frame.id, html });
  if (form === 'pdf') {
    const { data } = await call('Page.printToPDF', { ...PAPER, printBackground: true });
    return Buffer.from(String(data), 'base64');
  }
  const { cssContentSize } = await call('Page.getLayoutMetrics');
  const height = Math.min(Math.ceil((cssContentSize as { height: number }).height), MAX_HEIGHT);
  const clip = { x: 0, y: 0, width: size.width, height, scale: 1 };
  const { data } = await call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip });
  return Buffer.from(String(data), 'base64');
}

/** What is kept of a browser's last words, in characters. */
const MAX_LAST_WORDS = 500;

/** Rejects when the browser has ended, with its last words. */
function endOf(child: ChildProcess): Promise<never> {
  let said = '';
  child.stderr?.on('data', (text: Buffer) => {
    said = `${said}${text.toString()}`.slice(-MAX_LAST_WORDS);
  });
  return new Promise((_, reject) => {
    child.once('error', (error) => reject(new PictureFailed(`The browser could not be started: ${messageOf(error)}.`)));
    child.once('exit', () => reject(new PictureFailed(`The browser ended: ${said.replace(/\s+/g, ' ').trim()}`)));
  });
}

/** Rejects when the browser has taken too much time or memory, until it is stopped. */
function watched(child: ChildProcess, mostMs: number): { readonly failed: Promise<never>; readonly stop: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const late = setTimeout(
    () => reject(new PictureFailed(`The browser took longer than ${mostMs / SECOND_MS} s.`)),
    mostMs,
  );
  const look = setInterval(() => {
    if (child.pid === undefined) return;
    void residentBytes([child.pid, ...descendantsOf(child.pid)]).then((sizes) => {
      const sum = [...sizes.values()].reduce((all, one) => all + one, 0);
      if (sum > MOST_MEMORY_BYTES) reject(new PictureFailed('The browser took too much memory.'));
    });
  }, LOOK_MS);
  return {
    failed: promise,
    stop: () => {
      clearTimeout(late);
      clearInterval(look);
    },
  };
}

/** Returns the processes that a process has started, and those that these have; none where the system has no /proc. */
function descendantsOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const text = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')).join(' ');
    const children = text.split(/\s+/).filter(Boolean).map(Number);
    return children.flatMap((child) => [child, ...descendantsOf(child)]);
  } catch {
    return [];
  }
}

/** Kills the browser and all that it has started. */
function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
