import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { routes } from '../../lib/api/routes.ts';
import { type Import, ROOT, type Source, sourceOf, sourcesIn } from '../support/source.ts';

const lib = sourcesIn('lib');
const functions = sourcesIn('functions');
const infra = sourcesIn('infra');
const tests = sourcesIn('test');
const program = [...lib, ...functions, ...infra];

/** What breaks a rule, as `file: what`; the rules below want none. */
const offences = (sources: readonly Source[], found: (source: Source) => readonly string[]): string[] =>
  sources.flatMap((source) => found(source).map((what) => `${source.path}: ${what}`));

const imported = (source: Source, isForbidden: (one: Import) => boolean): string[] =>
  source.imports.filter(isForbidden).map(({ from }) => from);

/** What rows, models and rules are made of beside each other: words, shapes and arithmetic. */
const VOCABULARY =
  /^lib\/(http\/(route|fields|instant|json|scopes|levels|tags)|insights\/filter-schema|lake\/(intervals|schema|sources\/formats)|basics\/(json|text|units|raw-number|time-zones)|ports\/table\/json-text)\.ts$/;

const isModel = (path: string): boolean => path.endsWith('/model.ts');

/** May this file be needed, when the program runs, by rows and models? */
const mayRowsNeed = ({ from, isType }: Import): boolean =>
  isType || from === 'zod' || isModel(from) || VOCABULARY.test(from);

/** Rules may also refuse, and compare. */
const mayRulesNeed = (one: Import): boolean =>
  mayRowsNeed(one) || ['lib/ports/errors.ts', 'node:util'].includes(one.from);

/** Keys are made of parts joined by `#`: a template or a text in which a part ends or begins there. */
const keyPieces = ({ strings, templates }: Source): string[] => [
  ...strings.filter((text) => /^\w*#$|^[A-Z]+#/.test(text)),
  ...templates
    .filter((pieces) =>
      pieces.some((piece, at) => (at > 0 && piece.startsWith('#')) || (at < pieces.length - 1 && piece.endsWith('#'))),
    )
    .map((pieces) => pieces.join('…')),
];

describe('a file', () => {
  test('of rows or a model needs only zod, models and the words of rows', () => {
    const files = lib.filter(({ path }) => /\/(routes|model)\.ts$/.test(path) && path !== 'lib/api/routes.ts');
    expect(files.length).toBeGreaterThan(4);
    expect(offences(files, (source) => imported(source, (one) => !mayRowsNeed(one)))).toEqual([]);
  });

  test('of words that rows need does no I/O either', () => {
    const files = lib.filter(({ path }) => VOCABULARY.test(path));
    expect(offences(files, (source) => imported(source, (one) => !mayRulesNeed(one)))).toEqual([]);
  });

  test('of rules needs only models and what is pure', () => {
    const files = lib.filter(({ path }) => path.endsWith('/rules.ts'));
    expect(files.length).toBeGreaterThan(1);
    expect(offences(files, (source) => imported(source, (one) => !mayRulesNeed(one)))).toEqual([]);
  });

  test('other than the page of keys joins no key', () => {
    const files = program.filter(({ path }) => path !== 'lib/ports/table/keys.ts');
    expect(files.length).toBe(program.length - 1);
    expect(offences(files, keyPieces)).toEqual([]);
  });

  test('other than an adapter or a destination knows no AWS SDK', () => {
    const adapters =
      /^(lib\/(ports|warehouse|workflow|exports\/destinations)\/|infra\/aws\/(account\.ts$|stage-runtime\.ts$|runtime\/))/;
    const files = program.filter(({ path }) => !adapters.test(path));
    expect(offences(files, (source) => imported(source, ({ from }) => /^@(aws-sdk|smithy)\//.test(from)))).toEqual([]);
  });

  test('other than endpoint knows no middy', () => {
    const files = program.filter(({ path }) => path !== 'lib/api/endpoint.ts');
    expect(offences(files, (source) => imported(source, ({ from }) => from.startsWith('@middy/')))).toEqual([]);
  });

  test('in lib or functions does not know infra, and lib does not know functions', () => {
    expect(
      offences([...lib, ...functions], (source) => imported(source, ({ from }) => from.startsWith('infra/'))),
    ).toEqual([]);
    expect(offences(lib, (source) => imported(source, ({ from }) => from.startsWith('functions/')))).toEqual([]);
  });

  test('of the console knows of lib nothing but charts, basics and intervals, and of packages only what runs in a browser', () => {
    const files = lib.filter(({ path }) => path.startsWith('lib/console/'));
    expect(files.length).toBeGreaterThan(30);
    const own = /^(lib\/(basics|charts|console)\/|lib\/lake\/intervals\.ts$|build\/types\/)/;
    const isForeign = ({ from }: Import) => /^(lib|functions|infra|build)\/|^node:/.test(from) && !own.test(from);
    expect(offences(files, (source) => imported(source, isForeign))).toEqual([]);
  });

  test('of the program does not know the tests', () => {
    expect(offences(program, (source) => imported(source, ({ from }) => from.startsWith('test/')))).toEqual([]);
  });

  test('imports zod as a namespace, which a bundler can shake', () => {
    const wrong = ({ from, isNamespace }: Import) => from === 'zod' && !isNamespace;
    expect(offences([...program, ...tests], (source) => imported(source, wrong))).toEqual([]);
  });

  test('has a name in kebab-case that says what it is', () => {
    const names = ['lib', 'functions', 'infra', 'test'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true }).map((name) => posix.join(folder, String(name))),
    );
    // jest names the folder of its snapshots; a README is where a newcomer looks.
    const kebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$|^__snapshots__$|^README\.md$/;
    const empty = /^(utils?|helpers?|common|managers?|misc)$|-(utils?|helpers?|manager)$/;
    const wrong = names.filter((path) =>
      path.split('/').some((name) => !kebab.test(name) || empty.test(name.replace(/\..*/, ''))),
    );
    expect(wrong).toEqual([]);
  });
});

describe('a handler', () => {
  const handlers = functions.filter(({ path }) => !path.startsWith('functions/steps/'));
  const named = (path: string): string => path.replace(/^functions\/|\.ts$/g, '');
  /** Functions that are not endpoints. */
  const OTHERS = [
    'authorizer',
    'capture',
    'lake-worker/background',
    'lake-worker/waited',
    'method-not-allowed',
    'run-queries',
    'tick',
  ];

  test('is there for every row, and a row for every handler', () => {
    const files = handlers.map(({ path }) => named(path)).filter((name) => !OTHERS.includes(name));
    expect(files.toSorted()).toEqual([...new Set(routes.map(({ handler }) => handler))].toSorted());
  });

  test('is at most twenty lines, its reading and replaying included', () => {
    const endpoints = handlers.filter(({ path }) => !OTHERS.includes(named(path)));
    const long = offences(endpoints, ({ text }) => {
      const lines = text.slice(text.indexOf('export const handler')).trimEnd().split('\n').length;
      return lines > 20 ? [`${lines} lines`] : [];
    });
    expect(long).toEqual([]);
  });
});

test('a page of the documentation names no file that is not there', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)];
  const named = pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) => {
      const text = readFileSync(join(ROOT, page), 'utf8');
      return [...text.matchAll(/`((?:lib|functions|infra|test|docs)\/[\w./-]+\.\w+)`/g)].map(([, path = '']) => [
        page,
        path,
      ]);
    });
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(([, path = '']) => !existsSync(join(ROOT, path)))).toEqual([]);
});

describe('these rules', () => {
  const keysIn = (text: string) => keyPieces(sourceOf('lib/some/file.ts', text));

  test('see a key in every way to join one', () => {
    expect(keysIn('const a = `U#${id}`;')).toHaveLength(1);
    expect(keysIn('const a = `${kind}#${id}`;')).toHaveLength(1);
    expect(keysIn("const a = 'RUN#' + id;")).toHaveLength(1);
    expect(keysIn("const a = [kind, id].join('#');")).toHaveLength(1);
    expect(keysIn("const a = { prefix: 'FILE#events' };")).toHaveLength(1);
    expect(keysIn("const a = `#n${count}`, b = '#/components/schemas/', c = this.#field;")).toEqual([]);
  });

  test('see every kind of import', () => {
    const text = [
      "import type { A } from './a.ts';",
      "import { type B, b } from '../b.ts';",
      "import * as z from 'zod';",
      "export { d } from 'd';",
      'const e = () => import(`./e.ts`);',
    ].join('\n');
    expect(sourceOf('lib/some/file.ts', text).imports).toEqual([
      { from: 'lib/some/a.ts', isType: true, isNamespace: false },
      { from: 'lib/b.ts', isType: false, isNamespace: false },
      { from: 'zod', isType: false, isNamespace: true },
      { from: 'd', isType: false, isNamespace: false },
      { from: 'lib/some/e.ts', isType: false, isNamespace: false },
    ]);
  });
});
