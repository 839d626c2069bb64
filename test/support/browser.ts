/** A real browser for tests of pages, from a package: whatever this machine has installed is not asked for. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, LaunchOptions, Page } from 'playwright-core';
import { sharedServer } from './shared-server.ts';

const MODULES = join(import.meta.dirname, '../../node_modules');

/** It runs as root in containers, and asks nobody for anything that a page does not name. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A page under test. */
interface Visit {
  readonly page: Page;
  /** What the browser complained about: violations of the security policy, errors of scripts, what it could not load. */
  readonly complaints: readonly string[];
  /** What it asked for. */
  readonly requests: readonly string[];
}

export type OpenPage = (options?: BrowserContextOptions) => Promise<Visit>;

/** The browser of this run of jest, which serves all files: it starts in seconds of processor time. */
export const browserServer = sharedServer('TEST_BROWSER_DOOR', async () => {
  const { chromium } = await playwright();
  const server = await chromium.launchServer(launchOptions());
  return { address: server.wsEndpoint(), stop: () => server.close() };
});

/** `describe` for what needs a browser. */
export function describeInBrowser(name: string, body: (open: OpenPage) => void): void {
  describe(name, () => {
    let browser: Browser;
    beforeAll(async () => {
      const { chromium } = await playwright();
      browser = await chromium.connect(await browserServer.address());
    });
    // A page that stays open goes on asking, and drawing, beside those of the tests that follow.
    afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));
    afterAll(() => browser.close());
    body(async (options = {}) => {
      // What fades in is drawn many times, and waited for.
      const page = await (await browser.newContext({ reducedMotion: 'reduce', ...options })).newPage();
      const complaints: string[] = [];
      const requests: string[] = [];
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => requests.push(request.url()));
      return { page, complaints, requests };
    });
  });
}

const axeProgram = (): string => readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns what a person with a screen reader, a keyboard or weak eyes would stumble over. */
export async function obstacles(page: Page): Promise<unknown[]> {
  // A page that goes on without a reload has it still.
  if (await page.evaluate<boolean>("typeof axe === 'undefined'")) await page.evaluate(axeProgram());
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run({ resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html.slice(0, 200)) }));
  });
}

/** Returns the browser's program, and an environment with the libraries and fonts of its package. */
export function browserProgram(): { readonly program: string; readonly environment: NodeJS.ProcessEnv } {
  const folder = unpacked();
  const own = { LD_LIBRARY_PATH: join(folder, 'al2023/lib'), FONTCONFIG_FILE: join(folder, 'fonts.conf') };
  return { program: join(folder, 'chromium'), environment: { ...process.env, ...own } };
}

/** Starts a browser in a new, empty folder of its own. */
export const launch = async (): Promise<Browser> => (await playwright()).chromium.launch(launchOptions());

/** It is loaded where it is needed: jest's own process has the door of the browser, whatever is tested. */
const playwright = () => import('playwright-core');

function launchOptions(): LaunchOptions {
  const { program, environment } = browserProgram();
  return { executablePath: program, args: ARGUMENTS, env: environment };
}

/** The configuration of the package looks for its fonts below `/tmp`, where nobody puts them; without any, no page is drawn. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir></fontconfig>
`;

/** The folder of what the package holds, which is unpacked once for each version. */
function unpacked(): string {
  const { version } = JSON.parse(readFileSync(join(MODULES, '@sparticuz/chromium/package.json'), 'utf8')) as {
    version: string;
  };
  const folder = join(MODULES, `.cache/browser-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(join(MODULES, '.cache'), { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  const script = "import('@sparticuz/chromium').then(({ default: chromium }) => chromium.executablePath())";
  // It unpacks into the temporary folder, and the libraries that it needs only where it takes this for Lambda.
  const env = { ...process.env, TMPDIR: fresh, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' };
  execFileSync(process.execPath, ['-e', script], { cwd: MODULES, env });
  writeFileSync(join(fresh, 'fonts.conf'), FONTS);
  try {
    renameSync(fresh, folder);
  } catch (error) {
    // Another process was faster.
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
