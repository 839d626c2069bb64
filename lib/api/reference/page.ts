/**
 * The reference page: Swagger UI over `/api/schema/`. Its files come out of the package as they are, and a browser asks
 * nobody else; so a deployment carries `REFERENCE_FILES` and the package's `package.json` beside its code.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type * as z from 'zod';
import { ContentAnswer } from '../../http/answer.ts';
import { KEPT_FOR_EVER } from '../../http/header.ts';
import { htmlPage } from '../../http/html-page.ts';
import { html } from '../../http/markup.ts';
import { TWIN } from '../../http/route.ts';
import type { retrieveReferenceFile } from './routes.ts';

type ReferenceFile = z.output<typeof retrieveReferenceFile.params>['file'];

const PACKAGE = 'swagger-ui-dist';

/** The files of the package that the page needs, with their media types. */
export const REFERENCE_FILES: Readonly<Record<ReferenceFile, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

const resources = createRequire(import.meta.url);

const SCRIPT = `
const dark = matchMedia('(prefers-color-scheme: dark)');
const colour = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', colour);
colour();
const place = document.getElementById('reference');
const textOf = (operation) => [operation.get('method'), operation.get('path'), operation.getIn(['operation', 'summary'])].join(' ');
const isAbout = (words) => (operation) => words.every((word) => textOf(operation).toLowerCase().includes(word));
const filtered = (groups, phrase) => {
  const words = phrase.toLowerCase().split(/\\s+/);
  return groups
    .map((group) => group.update('operations', (operations) => operations.filter(isAbout(words))))
    .filter((group) => group.get('operations').size > 0);
};
const show = async () => {
  const spec = await (await fetch(place.dataset.schema)).json();
  // An operation is shown once, on the first of its paths.
  for (const methods of Object.values(spec.paths)) {
    for (const [method, operation] of Object.entries(methods)) if (operation['${TWIN}'] !== undefined) delete methods[method];
  }
  const plugins = [{ fn: { opsFilter: filtered } }];
  SwaggerUIBundle({ domNode: place, spec, plugins, filter: true, deepLinking: true, validatorUrl: null });
};
show();
`;

/** Returns the page; `url` is where it was asked for. Its links are paths, with the prefix that a stage adds. */
export function referencePage(url: string): ContentAnswer {
  const path = new URL(url).pathname.replace(/\/$/, '');
  const { version } = resources(`${PACKAGE}/package.json`) as { version: string };
  const file = (name: ReferenceFile): string => `${path}/${name}?v=${version}`;
  const schema = `${path.replace(/\/docs$/, '')}/`;
  return htmlPage({
    title: 'Workspace Management Service: reference',
    head: html`<link rel="stylesheet" href="${file('swagger-ui.css')}">`,
    body: html`<main>
<noscript>This page needs JavaScript. What it shows is made from <a href="${schema}">the OpenAPI document</a>.</noscript>
<div id="reference" data-schema="${schema}"></div>
</main>
<script src="${file('swagger-ui-bundle.js')}"></script>`,
    script: SCRIPT,
    sources: { 'script-src': "'self'", 'style-src': "'self'", 'connect-src': "'self'", 'img-src': "'self' data:" },
    headers: { 'Cache-Control': 'public, max-age=300' },
  });
}

/** The texts of the files that were asked for, each read once: the larger one has 1.5 MB, and anybody may ask. */
const texts = new Map<ReferenceFile, Promise<string>>();

/** Returns a file of the page. Its address names the package's version, so it may be kept for ever. */
export async function referenceFile(name: ReferenceFile): Promise<ContentAnswer> {
  const text = texts.get(name) ?? readFile(resources.resolve(`${PACKAGE}/${name}`), 'utf8');
  texts.set(name, text);
  return new ContentAnswer(await text, REFERENCE_FILES[name], KEPT_FOR_EVER);
}
