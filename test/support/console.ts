/** The console of `npm start` in a real browser: one service and one browser for all tests of a file. */
import type { APIResponse, BrowserContextOptions, Locator, Page, Request } from 'playwright-core';
import { describeInBrowser, type OpenPage } from './browser.ts';
import { temporaryFolder } from './context.ts';
import { type LocalService, run, startLocally } from './local-service.ts';

interface Made extends Record<string, unknown> {
  readonly id: string | number;
}

type Makes = (list: string, body: object) => Promise<Made>;

interface Called {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface ConsoleService extends LocalService {
  /** The first key, which may do everything. */
  readonly key: string;
  /** The first project's number and token. */
  readonly project: string;
  readonly token: string;
  call(method: string, path: string, body?: unknown, key?: string): Promise<Called>;
  /** Makes a key of the first user, which may do everything unless other scopes are named, and returns its value. */
  newKey(scopes?: readonly string[]): Promise<string>;
  /** Runs a command of the command line beside the service. */
  admin(...words: readonly string[]): ReturnType<typeof run>;
  /** Makes a key of a user by the command line, of a member who is no admin unless another one is named. Returns its value. */
  keyOf(email?: string, label?: string): Promise<string>;
  /** Sends an event as an SDK does. */
  send(event: object): Promise<void>;
}

/** What a stranger may call things, which would run if it were taken for markup. */
export const HOSTILE = '<img src=x onerror="document.title=\'taken\'">';

interface Console {
  readonly service: () => ConsoleService;
  /** Shows the page at a path of the console to who holds the key. */
  readonly open: OpenConsole;
  /** Returns a path of the console, and one of the API, in the first project. */
  readonly at: (path: string) => string;
  readonly api: (path: string) => string;
  /** Leads a page to a path of the console. */
  readonly show: (page: Page, path: string) => Promise<unknown>;
  /** Makes something in a list of the first project. */
  readonly made: Makes;
  /** Returns what is at a path of the first project by now. */
  readonly read: (path: string) => Promise<Called['body']>;
  /** Makes another project, and returns it with the beginning of its paths, and with what makes something in it. */
  readonly newProject: (
    name: string,
  ) => Promise<{ readonly project: Made; readonly there: string; readonly madeThere: Makes }>;
}

/** `describe` for the console. */
export function describeConsole(name: string, body: (console: Console) => void): void {
  describeInBrowser(name, (openPage) => {
    let service: ConsoleService;
    beforeAll(async () => {
      service = await startedService();
    });
    afterAll(() => service.end('SIGTERM'));
    const made: Makes = async (path, sent) => (await service.call('POST', path, sent)).body as Made;
    const api = (path: string): string => `/api/projects/${service.project}${path}`;
    body({
      service: () => service,
      open: (path, options) => opened(openPage, service, path, options),
      at: (path) => `/projects/${service.project}${path}`,
      api,
      show: (page, path) => page.goto(`${service.address}/#${path}`),
      made: (list, sent) => made(api(list), sent),
      read: async (path) => (await service.call('GET', `${api(path)}/`)).body,
      newProject: async (name) => {
        const project = await made('/api/organizations/@current/projects/', { name });
        const there = `/projects/${project.id}`;
        return { project, there, madeThere: (list, sent) => made(`/api${there}${list}`, sent) };
      },
    });
  });
}

interface OpenConsoleOptions extends Pick<BrowserContextOptions, 'colorScheme' | 'timezoneId' | 'viewport'> {
  readonly key?: string;
}

type OpenConsole = (path: string, options?: OpenConsoleOptions) => ReturnType<OpenPage>;

async function opened(
  openPage: OpenPage,
  service: ConsoleService,
  path: string,
  { key = service.key, ...options }: OpenConsoleOptions = {},
) {
  const visit = await openPage(options);
  // A page waits for what it expects as long as a test may last: a busy machine is no failure.
  visit.page.setDefaultTimeout(30_000);
  await visit.page.goto(`${service.address}/#key=${key}&${path}`);
  // A text of a dashboard may have headings of its own.
  await visit.page.getByRole('heading', { level: 1 }).first().waitFor();
  return visit;
}

async function startedService(): Promise<ConsoleService> {
  const home = temporaryFolder();
  const service = await startLocally(home);
  const { key, project } = await service.welcome();
  const call: ConsoleService['call'] = async (method, path, sent, used = key) => {
    const answer = await fetch(`${service.address}${path}`, {
      method,
      headers: { Authorization: `Bearer ${used}`, 'Content-Type': 'application/json' },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
  };
  const admin: ConsoleService['admin'] = (...words) => run('infra/local/admin.ts', words, { WORKSPACE_HOME: home });
  const { body } = await call('GET', `/api/projects/${project}/`);
  const token = String(body['api_token']);
  return {
    ...service,
    key,
    project,
    token,
    call,
    newKey: async (scopes = ['*']) =>
      String((await call('POST', '/api/personal_api_keys/', { label: 'Own', scopes })).body['value']),
    admin,
    keyOf: async (email = 'member@example.com', label = 'Own') => {
      const { out } = await admin('key', 'create', '--email', email, '--label', label, '--scopes', '*');
      return String(/phx_\w+/.exec(out));
    },
    send: async (event) => {
      const { ok } = await fetch(`${service.address}/e/`, {
        method: 'POST',
        body: JSON.stringify({ api_key: token, ...event }),
      });
      if (!ok) throw new Error('the event was not taken');
    },
  };
}

/** Resolves when something is there to be seen. */
export const expectSeen = (locator: Locator): Promise<void> => locator.first().waitFor();

/** Resolves when nothing of it is there any more, however much of it there was. */
export const expectGone = (locator: Locator): Promise<void> => locator.first().waitFor({ state: 'detached' });

/** Does what writes, until the service has written it: pages show some changes before. */
export const whileWritten = (page: Page, act: () => Promise<void>): Promise<unknown> =>
  Promise.all([page.waitForResponse((one) => one.request().method() === 'PATCH' && one.ok()), act()]);

/** Holds back requests to an address; resolves to what lets them go on. */
export async function heldBack(page: Page, url: string, isHeld: (one: Request) => boolean): Promise<() => void> {
  const { promise: isTime, resolve: release } = Promise.withResolvers<void>();
  await page.route(url, async (asked) => {
    if (isHeld(asked.request())) await isTime;
    await asked.continue();
  });
  return release;
}

/** Returns the button of this name. */
export const button = (page: Page | Locator, name: string): Locator => page.getByRole('button', { name, exact: true });

/** Returns the rows of a table that hold a text. */
export const row = (page: Page, table: string, text: string | RegExp): Locator =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });

/** Resolves to whether something is there to be seen, at the latest after some reloads of the page. */
export async function seenAfterReloads(page: Page, locator: Locator, left = 20): Promise<boolean> {
  const isSeen = await locator.waitFor({ timeout: 1_500 }).then(
    () => true,
    () => false,
  );
  if (isSeen || left === 0) return isSeen;
  await page.reload();
  return seenAfterReloads(page, locator, left - 1);
}

/** Shows the page what something was like, until the page has tried to write it. */
export async function asBefore(page: Page, path: string): Promise<void> {
  const { promise: before, resolve } = Promise.withResolvers<APIResponse>();
  let isAsked = false;
  let tryWrite = false;
  await page.route(`**${path}`, async (route) => {
    tryWrite ||= route.request().method() !== 'GET';
    if (tryWrite) return route.continue();
    if (!isAsked) {
      isAsked = true;
      resolve(await route.fetch());
    }
    return route.fulfill({ response: await before });
  });
  await page.reload();
  // The page has a heading before it has an answer.
  await before;
  await expectSeen(page.getByRole('heading', { level: 1 }));
}
