/** The console's page, and the files that it loads, as `infra/build/console.ts` has built them. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type * as z from 'zod';
import { Recent } from '../../basics/recent.ts';
import { ContentAnswer } from '../../http/answer.ts';
import { KEPT_FOR_EVER } from '../../http/header.ts';
import { htmlPage } from '../../http/html-page.ts';
import { html } from '../../http/markup.ts';
import { numberOfShortId } from '../../insights/model.ts';
import { fail } from '../../ports/errors.ts';
import { orAbsent } from '../../ports/files/or-absent.ts';
import { CONSOLE_FOLDER } from './folder.ts';
import type { openConsoleLink } from './routes.ts';

/** What a build leaves beside its files, in `build.json`. */
export interface ConsoleBuild {
  /** The names of the first script and of the style sheet; each holds a hash of its content. */
  readonly script: string;
  readonly style: string;
  /** The scripts that the first page loads, the first one included. */
  readonly first: readonly string[];
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

/** Returns the text of a file of the build; undefined: it has none of this name. */
const built = (name: string): Promise<string | undefined> => orAbsent(readFile(new URL(name, CONSOLE_FOLDER), 'utf8'));

/**
 * Returns the page; `url` is where it was asked for. It loads scripts of ours only, and style sheets that the scripts
 * make carry a word of this one answer.
 */
export async function consolePage(url: string): Promise<ContentAnswer> {
  const text = await built('build.json');
  if (text === undefined) {
    return htmlPage({
      title: 'Workspace',
      body: html`<main><h1>The console is not built</h1><p>Run npm run console in the folder of the program, as a user who may write there, and load this page again.</p></main>`,
    });
  }
  const { script, style, first } = JSON.parse(text) as ConsoleBuild;
  const path = new URL(url).pathname.replace(/\/$/, '');
  const nonce = randomBytes(16).toString('base64url');
  return htmlPage({
    title: 'Workspace',
    head: html`<meta name="style-nonce" content="${nonce}">
<link rel="stylesheet" href="${path}/console/${style}">
${first.map((name) => html`<link rel="modulepreload" href="${path}/console/${name}">\n`)}<script type="module" src="${path}/console/${script}"></script>`,
    body: html`<div id="console"></div>
<noscript>The console needs JavaScript. What it does can be done with <a href="${path}/api/schema/docs/">the API</a>.</noscript>`,
    sources: {
      'script-src': "'self'",
      'style-src': `'self' 'nonce-${nonce}'`,
      'connect-src': "'self'",
      'img-src': "'self' data:",
    },
  });
}

/** Returns a page that leads to one of the console's; `url` is where it was asked for. */
export function consoleLink(
  url: string,
  { project, page, id }: z.output<typeof openConsoleLink.params>,
): ContentAnswer {
  const prefix = new URL(url).pathname.replace(/(\/[^/]+){4}\/?$/, '');
  const there = page === 'dashboard' ? `dashboards/${id}` : `insights/${numberOfShortId(id) ?? id}`;
  const address = `${prefix}/#/projects/${project}/${there}`;
  return htmlPage({
    title: 'Workspace',
    head: html`<meta http-equiv="refresh" content="0; url=${address}">`,
    body: html`<main><a href="${address}">Open it in the console</a></main>`,
  });
}

/** More than a build has. */
const MAX_CHARACTERS = 4_000_000;

/** The texts of the files that were asked for last: anybody may ask, for many at a time. */
const texts = new Recent<string>(MAX_CHARACTERS, ({ length }) => length);

/** Returns a file of the build. Its name holds a hash of its content, so it may be kept for ever. */
export async function consoleFile(name: string): Promise<ContentAnswer> {
  const text = texts.get(name) ?? (await built(name));
  if (text === undefined) return fail('not_found');
  texts.set(name, text);
  return new ContentAnswer(
    text,
    MEDIA_TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'text/plain; charset=utf-8',
    KEPT_FOR_EVER,
  );
}
