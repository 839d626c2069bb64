/**
 * PostHog's Terraform provider over this service: the requests that its resources `posthog_dashboard`, `posthog_insight`
 * and `posthog_dashboard_layout` send, and the state that they make of the answers. A resource that is applied twice must
 * find the second time what was declared, or Terraform reports a drift.
 */
import { testContext } from '../../support/context.ts';
import { testService } from '../../support/service.ts';

type Json = Readonly<Record<string, unknown>>;

/** Go's `omitempty`: what is null, and lists without an element, are not sent. */
const sent = (fields: Json): Json =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)),
  );

const textOrNull = (value: unknown): unknown => (typeof value === 'string' && value.trim() !== '' ? value : null);
const set = (values: unknown): unknown =>
  Array.isArray(values) && values.length > 0 ? values.toSorted((a, b) => (a < b ? -1 : 1)) : null;

/** JSON with its keys in order, as the provider compares queries and layouts. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

interface Resource {
  readonly path: string;
  /** The body that creates what is declared. */
  readonly create: (declared: Json) => Json;
  /** What the provider takes for the state, out of an answer. */
  readonly state: (answer: Json) => Json;
}

const DASHBOARD: Resource = {
  path: 'dashboards',
  create: ({ name, description = null, pinned = null, tags = null }) => sent({ name, description, pinned, tags }),
  state: ({ name, description, pinned, tags, deleted }) => ({
    name: textOrNull(name),
    description: textOrNull(description),
    pinned: pinned ?? null,
    tags: set(tags),
    deleted: deleted ?? null,
  }),
};

/** The provider drops these members of a query that it reads. */
const OF_THE_SERVER = ['filters', 'result', 'hogql', 'columns', 'timezone', 'types', 'version', 'last_refresh'];

const INSIGHT: Resource = {
  path: 'insights',
  create: ({ name = null, derived_name = null, description = null, query, tags = null, dashboards = null }) =>
    sent({ name, derived_name, description, query, tags, dashboards, _create_in_folder: null }),
  state: ({ name, derived_name, description, query, tags, dashboards, deleted }) => ({
    name: textOrNull(name),
    derived_name: textOrNull(derived_name),
    description: textOrNull(description),
    query: canonical(
      Object.fromEntries(Object.entries(query as Json).filter(([member]) => !OF_THE_SERVER.includes(member))),
    ),
    tags: set(tags),
    dashboards: set(dashboards),
    deleted: deleted ?? null,
  }),
};

/** A project, and the provider over it. */
async function provider() {
  const service = await testService(testContext());
  const project = `/api/projects/${service.project.id}`;
  const call = async (method: string, path: string, body?: Json): Promise<Json> => {
    const reply = await service.call(method, `${project}/${path}/`, body === undefined ? {} : { body });
    expect(`${method} ${path}: ${reply.status < 300 ? 'done' : reply.text}`).toBe(`${method} ${path}: done`);
    return reply.body ?? {};
  };
  const status = async (path: string): Promise<number> => (await service.call('GET', `${project}/${path}/`)).status;

  /** Creates what is declared, reads it, applies it once more and reads it again: the state is the same each time. */
  const apply = async ({ path, create, state }: Resource, declared: Json) => {
    const made = await call('POST', path, create(declared));
    const at = `${path}/${Number(made['id'])}`;
    const first = state(made);
    expect(state(await call('GET', at))).toEqual(first);
    const update = { ...create(declared), deleted: false };
    expect(state(await call('PATCH', at, update))).toEqual(first);
    expect(state(await call('GET', at))).toEqual(first);
    return { id: Number(made['id']), at, state: first };
  };
  return { call, status, apply };
}

const QUERY = {
  kind: 'InsightVizNode',
  source: {
    kind: 'TrendsQuery',
    series: [{ kind: 'EventsNode', event: '$pageview', math: 'dau', custom_name: 'Visitors' }],
    dateRange: { date_from: '-7d', explicitDate: false },
    interval: 'day',
    trendsFilter: { display: 'ActionsLineGraph', decimalPlaces: 1.5 },
    breakdownFilter: { breakdown: '$browser', breakdown_type: 'event' },
  },
  full: true,
};

test('a dashboard is applied twice without a drift, changed, and destroyed', async () => {
  const { call, status, apply } = await provider();
  const whole = { name: 'Web', description: 'What we look at', pinned: true, tags: ['web', 'growth'] };
  const { at, state } = await apply(DASHBOARD, whole);
  expect(state).toEqual({ ...whole, tags: ['growth', 'web'], deleted: false });
  // What is taken out of the configuration: the provider sends an empty description, and nothing of tags.
  const changed = DASHBOARD.state(
    await call('PATCH', at, { name: 'Web 2', description: '', pinned: false, deleted: false }),
  );
  expect(changed).toMatchObject({ name: 'Web 2', description: null, pinned: false });
  expect(DASHBOARD.state(await call('GET', at))).toEqual(changed);
  await call('PATCH', at, { deleted: true });
  expect(await status(at)).toBe(404);
  expect((await apply(DASHBOARD, { name: 'Bare' })).state).toEqual({
    name: 'Bare',
    description: null,
    pinned: false,
    tags: null,
    deleted: false,
  });
});

test('an insight is applied twice without a drift, moved between dashboards, and destroyed', async () => {
  const { call, status, apply } = await provider();
  const one = (await apply(DASHBOARD, { name: 'One' })).id;
  const two = (await apply(DASHBOARD, { name: 'Two' })).id;
  const whole = {
    name: 'Visitors',
    derived_name: 'Visitors of pages',
    description: 'By day',
    query: QUERY,
    tags: ['b', 'a'],
    dashboards: [two, one],
  };
  const { at, state } = await apply(INSIGHT, whole);
  expect(state).toEqual({
    ...whole,
    query: canonical(QUERY),
    tags: ['a', 'b'],
    dashboards: [one, two].toSorted((a, b) => a - b),
    deleted: false,
  });
  const moved = INSIGHT.state(
    await call('PATCH', at, { ...INSIGHT.create({ ...whole, dashboards: [two] }), deleted: false }),
  );
  expect(moved['dashboards']).toEqual([two]);
  expect(INSIGHT.state(await call('GET', at))).toEqual(moved);
  await call('PATCH', at, { deleted: true });
  expect(await status(at)).toBe(404);
  const bare = await apply(INSIGHT, { query: { kind: 'HogQLQuery', query: 'SELECT count() FROM events' } });
  expect(bare.state).toMatchObject({ name: null, derived_name: null, description: null, dashboards: null, tags: null });
});

interface Tile {
  readonly insight?: number;
  readonly text?: string;
  readonly color?: string;
  readonly show_description?: boolean;
  readonly layouts?: Json;
}

interface ReadTile {
  readonly id: number;
  readonly insight?: { readonly id: number } | null;
  readonly text?: { readonly body: string } | null;
  readonly layouts: Json;
  readonly color?: string | null;
  readonly show_description?: boolean | null;
}

describe('a layout', () => {
  /** A project, and the provider's resource of a dashboard's layout. */
  async function layout() {
    const { call, apply } = await provider();
    const { id, at } = await apply(DASHBOARD, { name: 'Laid out' });
    const insight = async (name: string): Promise<number> =>
      (await apply(INSIGHT, { name, query: QUERY, dashboards: [id] })).id;
    const tilesOf = (answer: Json): ReadTile[] => answer['tiles'] as ReadTile[];
    const matching = (read: readonly ReadTile[], declared: Tile): ReadTile | undefined =>
      read.find((tile) =>
        declared.insight === undefined ? tile.text?.body === declared.text : tile.insight?.id === declared.insight,
      );
    /** The state of declared tiles, in the order of their declaration. */
    const stateOf = (answer: Json, declared: readonly Tile[]) =>
      declared.map((tile) => {
        const read = matching(tilesOf(answer), tile);
        return {
          tile: read?.id,
          insight: read?.insight?.id ?? null,
          text: read?.text?.body ?? null,
          color: textOrNull(read?.color),
          show_description: read?.show_description ?? null,
          layouts: Object.keys(read?.layouts ?? {}).length === 0 ? null : canonical(read?.layouts),
        };
      });
    const apply2 = async (declared: readonly Tile[]): Promise<Json> => {
      const known = tilesOf(await call('GET', at));
      const matched = declared.map((tile) => matching(known, tile));
      const items = declared.map(({ text, color = '', show_description = null, layouts }, n) => ({
        ...(matched[n] === undefined ? {} : { id: matched[n].id }),
        color,
        show_description,
        ...(layouts === undefined ? {} : { layouts }),
        ...(text === undefined ? {} : { text: { body: text } }),
      }));
      const others = known
        .filter((tile) => !matched.includes(tile))
        .flatMap((tile): Json[] =>
          tile.text
            ? [{ id: tile.id, deleted: true }]
            : Object.keys(tile.layouts).length > 0
              ? [{ id: tile.id, layouts: {} }]
              : [],
        );
      return call('PATCH', at, { tiles: [...items, ...others] });
    };
    return { call, at, id, insight, tilesOf, stateOf, applyLayout: apply2 };
  }

  const place = (x: number, y: number, w = 6, h = 5): Json => ({
    sm: { x, y, w, h, minW: 3, minH: 2 },
    xs: { x: 0, y, w: 1, h },
  });

  test('is applied twice without a drift, and its tiles keep their numbers', async () => {
    const { call, at, insight, stateOf, applyLayout, tilesOf } = await layout();
    const declared: Tile[] = [
      { text: '# Above', layouts: place(0, 0, 12, 1) },
      { insight: await insight('Right'), layouts: place(6, 1), color: 'blue', show_description: true },
      { insight: await insight('Left'), layouts: place(0, 1), show_description: false },
      { text: 'Without a place' },
    ];
    const first = stateOf(await applyLayout(declared), declared);
    expect(first).toEqual(
      declared.map(({ insight: number = null, text = null, color = null, show_description = null, layouts }) => ({
        tile: expect.any(Number),
        insight: number,
        text,
        color,
        show_description,
        layouts: layouts === undefined ? null : canonical(layouts),
      })),
    );
    expect(stateOf(await call('GET', at), declared)).toEqual(first);
    expect(stateOf(await applyLayout(declared), declared)).toEqual(first);
    expect(stateOf(await call('GET', at), declared)).toEqual(first);
    expect(tilesOf(await call('GET', at))).toHaveLength(4);
  });

  test('takes out what is not declared any more, and puts back an insight that somebody took away', async () => {
    const { call, at, id, insight, stateOf, applyLayout, tilesOf } = await layout();
    const [kept, loose] = [await insight('Kept'), await insight('Loose')];
    await applyLayout([
      { insight: kept, layouts: place(0, 0), color: 'blue', show_description: true },
      { insight: loose, layouts: place(6, 0) },
      { text: 'Gone soon', layouts: place(0, 5) },
    ]);
    const declared: Tile[] = [
      { insight: kept, layouts: place(0, 0) },
      { text: 'New', layouts: place(0, 9) },
    ];
    const state = stateOf(await applyLayout(declared), declared);
    expect(state).toMatchObject([{ color: null, show_description: null }, { text: 'New' }]);
    const read = tilesOf(await call('GET', at));
    expect(read.map(({ text }) => text?.body ?? null).filter((body) => body !== null)).toEqual(['New']);
    expect(read.find((tile) => tile.insight?.id === loose)?.layouts).toEqual({});

    // Somebody takes the insight off the dashboard; the provider adds the dashboard to those of the insight.
    await call('PATCH', `insights/${kept}`, { dashboards: [] });
    expect(tilesOf(await call('GET', at)).some((tile) => tile.insight?.id === kept)).toBe(false);
    await call('PATCH', `insights/${kept}`, { dashboards: [id] });
    const again = stateOf(await applyLayout(declared), declared);
    expect(again).toMatchObject([{ insight: kept, layouts: canonical(place(0, 0)) }, { text: 'New' }]);
    expect(stateOf(await call('GET', at), declared)).toEqual(again);
  });
});
