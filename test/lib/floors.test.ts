/**
 * The house: a folder of `lib` imports from folders below it, never from above, types included. A reader may then take
 * any folder with those below it, and knows that nothing else can matter.
 */
import { type Import, reached, type Source, sourcesIn } from '../support/source.ts';

/** From the top. A line holds one room; rooms of one family stand under each other. */
const FLOORS = [
  'console',
  'admin',
  'api',
  'purge',
  'notifications',
  'dashboards',
  'insights',
  'reading',
  'imports',
  'exports/resource',
  'exports/runs',
  'exports/notices',
  'exports/query',
  'exports/destinations',
  'exports/records',
  'capture',
  'accounts/me',
  'accounts/personal-api-keys',
  'accounts/organizations',
  'accounts/activity',
  'accounts/users',
  'charts',
  'warehouse',
  'lake',
  'hogql',
  'duckdb',
  'jobs',
  'workflow',
  'webhooks',
  'http',
  'pictures',
  'workers',
  'ports',
  'basics',
] as const;

/** Names every port, so it looks up, and everybody may look at it. */
const CONTEXT = 'lib/ports/context.ts';

const lib = sourcesIn('lib');
const program = [...lib, ...sourcesIn('functions')];

/** The room of a file and its floor, from the top; undefined: the file stands in no room. */
function roomOf(path: string): { readonly name: string; readonly floor: number } | undefined {
  const floor = FLOORS.findIndex((name) => path.startsWith(`lib/${name}/`));
  const name = FLOORS[floor];
  return name === undefined ? undefined : { name, floor };
}

/** What is wrong with an import, in a sentence that says what to do; undefined: nothing. */
function offence(source: Pick<Source, 'path'>, { from }: Pick<Import, 'from'>): string | undefined {
  if (!from.startsWith('lib/') || source.path === CONTEXT || from === CONTEXT) return undefined;
  const [own, other] = [roomOf(source.path), roomOf(from)];
  if (own === undefined || other === undefined || other.floor >= own.floor) return undefined;
  return (
    `${source.path} imports ${from}, and ${other.name} lies above ${own.name}. What it needs could live in ${own.name} ` +
    `or in a room below it, or be handed to it by its caller.`
  );
}

/** Circles of files, types included, each from its first file back to it. */
function circles(sources: readonly Source[]): string[] {
  const imports = new Map(sources.map(({ path, imports }) => [path, imports.map(({ from }) => from)]));
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, way: readonly string[]): void => {
    const at = way.indexOf(path);
    if (at >= 0) found.push([...way.slice(at), path].join(' -> '));
    if (at >= 0 || done.has(path)) return;
    for (const next of imports.get(path) ?? []) if (imports.has(next) && next !== CONTEXT) walk(next, [...way, path]);
    done.add(path);
  };
  for (const { path } of sources) walk(path, []);
  return found;
}

describe('the house', () => {
  test('has every file of lib in a room', () => {
    expect(lib.filter(({ path }) => roomOf(path) === undefined).map(({ path }) => path)).toEqual([]);
  });

  test('has no room that is empty', () => {
    expect(FLOORS.filter((name) => !lib.some(({ path }) => roomOf(path)?.name === name))).toEqual([]);
  });

  test('has no import that runs upward, types included', () => {
    const wrong = lib.flatMap((source) => source.imports.flatMap((one) => offence(source, one) ?? []));
    expect(wrong).toEqual([]);
  });

  test('has no circle of files, types included', () => {
    expect(circles(lib)).toEqual([]);
  });

  test('lets the authorizer reach no resource but keys', () => {
    const rooms = reached(program, 'functions/authorizer.ts').flatMap((path) => roomOf(path)?.name ?? []);
    expect(
      [...new Set(rooms)].filter(
        (name) => !['api', 'accounts/personal-api-keys', 'http', 'ports', 'basics'].includes(name),
      ),
    ).toEqual([]);
  });

  test('lets the delivery of an interval reach nothing of the API', () => {
    const files = reached(program, 'functions/steps/send-interval.ts');
    expect(files.filter((path) => /^lib\/(api|exports\/resource)\//.test(path))).toEqual([]);
  });
});

describe('the rules of the house', () => {
  const at = (path: string, from: string): string | undefined => offence({ path }, { from });

  test('name the import and where what is needed could live', () => {
    expect(at('lib/lake/publish.ts', 'lib/exports/runs/plan.ts')).toBe(
      'lib/lake/publish.ts imports lib/exports/runs/plan.ts, and exports/runs lies above lake. What it needs could live ' +
        'in lake or in a room below it, or be handed to it by its caller.',
    );
  });

  test('allow imports of the same room, of rooms below, of packages and of the context', () => {
    expect(at('lib/lake/publish.ts', 'lib/lake/lease.ts')).toBeUndefined();
    expect(at('lib/lake/publish.ts', 'lib/ports/errors.ts')).toBeUndefined();
    expect(at('lib/lake/publish.ts', 'zod')).toBeUndefined();
    expect(at('lib/lake/publish.ts', CONTEXT)).toBeUndefined();
    expect(at(CONTEXT, 'lib/warehouse/warehouse.ts')).toBeUndefined();
  });

  test('see a circle through types', () => {
    const source = (path: string, from: string): Source => ({
      path,
      text: '',
      strings: [],
      templates: [],
      imports: [{ from, isType: true, isNamespace: false }],
    });
    expect(circles([source('a.ts', 'b.ts'), source('b.ts', 'a.ts')])).toEqual(['a.ts -> b.ts -> a.ts']);
  });
});
