/** A real browser for tests of pages: Debian's chromium, or another one of its family that is installed. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

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

type OpenPage = (options?: BrowserContextOptions) => Promise<Visit>;

/** `describe` for what needs a browser: without one the block is skipped, loudly. */
export function describeInBrowser(name: string, body: (open: OpenPage) => void): void {
  const executablePath = PLACES.find((place) => existsSync(place));
  if (executablePath === undefined) {
    process.stderr.write(`\nNot tested in a browser, for there is none (apt-get install chromium): ${name}.\n`);
    describe.skip(name, () => body(() => Promise.reject(new Error('there is no browser'))));
    return;
  }
  describe(name, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath, args: ARGUMENTS });
    });
    afterAll(() => browser.close());
    body(async (options = {}) => {
      const page = await (await browser.newContext(options)).newPage();
      const complaints: string[] = [];
      const requests: string[] = [];
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => requests.push(request.url()));
      return { page, complaints, requests };
    });
  });
}
