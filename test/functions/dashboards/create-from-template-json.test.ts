import * as fc from 'fast-check';
import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { checkedTemplate, TEMPLATES, templateNamed } from '../../../lib/dashboards/templates/index.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { Failure } from '../../../lib/ports/errors.ts';
import { bad, dashboards, told } from '../../support/dashboards.ts';

const TEMPLATE = {
  template_name: 'Mine',
  dashboard_description: 'Made by me',
  dashboard_filters: { date_from: '-7d' },
  tags: ['Sales', 'sales'],
  tiles: [
    {
      type: 'INSIGHT',
      name: 'Visitors',
      description: 'd',
      query: { kind: 'TrendsQuery' },
      color: 'red',
      layouts: { sm: { x: 0, y: 1 } },
    },
    { type: 'TEXT', body: '# Hi', layouts: { sm: { x: 0, y: 0 } } },
    { type: 'BUTTON', whatever: 1 },
  ],
};
const PATH = '/dashboards/create_from_template_json/';

test('a template becomes a dashboard whose tiles have no author; unknown tiles are passed over', async () => {
  const { call, found, service } = await dashboards();
  const key = await service.newKey(await service.newUser(LEVELS.member));
  const body = { template: TEMPLATE, creation_context: 'onboarding', name: 'passed over', pinned: true };
  const reply = await call('POST', PATH, body, { key });
  expect(told(reply)).toMatchObject({
    status: 200,
    body: {
      name: 'Mine',
      description: 'Made by me',
      filters: { date_from: '-7d' },
      tags: ['sales'],
      pinned: false,
      creation_mode: 'default',
      use_template: '',
      created_by: { email: 'user-1@example.com' },
      tiles: [
        { text: { body: '# Hi', created_by: null, last_modified_by: null }, insight: null },
        {
          insight: { name: 'Visitors', description: 'd', query: { kind: 'TrendsQuery' }, created_by: null },
          color: 'red',
        },
      ],
    },
  });
  expect(await found(reply.body?.['id'] as number, { key })).toEqual(reply.body);
});

test("a dashboard that is read becomes a template as PostHog's clients make one, and the same one elsewhere", async () => {
  const { dashboard, insight, found, context, service } = await dashboards();
  const { id } = await insight({
    name: 'Visitors',
    description: 'd',
    query: { kind: 'TrendsQuery', interval: 'hour' },
  });
  const made = await dashboard({
    name: 'Growth',
    description: 'Weekly',
    tags: ['web'],
    filters: { date_from: '-30d', properties: [] },
    tiles: [
      { text: { body: '# Hi' }, layouts: { sm: { x: 0, y: 0, w: 12, h: 1 } } },
      { insight: id, color: 'blue', layouts: { sm: { x: 0, y: 1, w: 6, h: 5 }, xs: { x: 0, y: 1, w: 1, h: 5 } } },
    ],
  });
  const { name, description, filters, tags, tiles } = await found(made.id);
  const template = {
    template_name: name,
    dashboard_description: description,
    dashboard_filters: filters,
    tags,
    tiles: tiles.map(({ text, insight: shown, layouts, color }) =>
      text === null
        ? {
            type: 'INSIGHT',
            name: shown?.name,
            description: shown?.description ?? '',
            query: shown?.query,
            layouts,
            color,
          }
        : { type: 'TEXT', body: text.body, layouts, color },
    ),
    variables: [],
  };
  const { project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
  const reply = await service.call('POST', `/api/projects/${project.id}${PATH}`, { body: { template } });
  expect(reply).toMatchObject({ status: 200, body: { name, description, filters, tags } });
  const shownIn = (all: unknown) =>
    (all as typeof tiles).map(({ text, insight: shown, layouts, color }) => ({
      layouts,
      color,
      body: text?.body,
      ...(shown === null ? {} : { name: shown.name, description: shown.description, query: shown.query }),
    }));
  expect(shownIn(reply.body?.['tiles'])).toEqual(shownIn(tiles));
});

const [insight, text] = TEMPLATE.tiles;
const without = (name: string) => Object.fromEntries(Object.entries(TEMPLATE).filter(([key]) => key !== name));

test.each([
  [{}, "'template_name' is a required property, at the template itself"],
  [without('template_name'), "'template_name' is a required property, at the template itself"],
  [without('tiles'), "'tiles' is a required property, at the template itself"],
  [{ ...TEMPLATE, template_name: 5 }, "5 is not of type 'string', at template_name"],
  [{ ...TEMPLATE, tiles: [] }, '[] should be non-empty, at tiles'],
  [{ ...TEMPLATE, tiles: 'x' }, "'x' is not of type 'array', at tiles"],
  [{ ...TEMPLATE, tiles: [insight, { ...insight, color: 1 }] }, "1 is not of type 'string', 'null', at tiles.1.color"],
  [{ ...TEMPLATE, tiles: [insight, { ...text, body: undefined }] }, "'body' is a required property, at tiles.1"],
  [{ ...TEMPLATE, tiles: [{ type: 'INSIGHT', query: [] }] }, "[] is not of type 'object', 'null', at tiles.0.query"],
  [{ ...TEMPLATE, tags: [''] }, /^'' .*, at tags\.0$/],
  [
    { ...TEMPLATE, variables: [{ id: 'a', name: 'a', type: 'person', default: {}, description: '', required: true }] },
    "'person' is not one of ['event'], at variables.0.type",
  ],
  [{ ...TEMPLATE, tiles: [{ ...insight, name: 'x'.repeat(401) }] }, /^'x{199}\.\.\. is too long, at tiles\.0\.name$/],
])('case %#: a bad template is refused with the fault and its place', async (template, detail) => {
  const { call } = await dashboards();
  const { status, body } = await call('POST', PATH, { template });
  expect({ status, type: body?.['type'], code: body?.['code'], attr: body?.['attr'] }).toEqual({
    status: 400,
    type: 'validation_error',
    code: 'invalid_input',
    attr: null,
  });
  expect(body?.['detail']).toMatch(detail);
  expect((await call('GET', '/dashboards/')).body).toMatchObject({ count: 0 });
});

test('a body without a template, or with something else, is refused', async () => {
  const { call } = await dashboards();
  expect(told(await call('POST', PATH, {}))).toEqual(bad('This field is required.', 'template', 'required'));
  expect(told(await call('POST', PATH, { template: 'x' }))).toEqual(
    bad('Invalid data. Expected a dictionary, but got str.', 'template'),
  );
  const big = { ...TEMPLATE, tiles: [{ type: 'INSIGHT', query: { a: 'x'.repeat(102_400) } }] };
  expect(told(await call('POST', PATH, { template: big }))).toEqual(
    bad('An insight may hold at most 100 KiB.', 'tiles'),
  );
  const mistyped = { ...TEMPLATE, dashboard_filters: { date_from: 7 } };
  expect(told(await call('POST', PATH, { template: mistyped }))).toEqual(
    bad('Not a valid string.', 'template__dashboard_filters__date_from'),
  );
  const odd = `{"template":${JSON.stringify(TEMPLATE).replace('"Mine"', '"\\ud800"')}}`;
  expect((await call('POST', PATH, odd)).status).toBe(400);
  const number = JSON.stringify({ template: { ...TEMPLATE, tiles: [{ type: 'INSIGHT', query: 'N' }] } }).replace(
    '"N"',
    '12345678901234567890',
  );
  expect((await call('POST', PATH, number)).status).toBe(400);
});

test('every template that comes with the service holds to the schema', () => {
  const templateNames = [...TEMPLATES.keys()];
  expect(templateNames).toEqual(expect.arrayContaining(['DEFAULT_APP', 'WEBSITE_TRAFFIC']));
  for (const name of templateNames) expect(templateNamed(name).tiles.length).toBeGreaterThan(0);
});

test('whatever is checked is a template, or a 400 that says where', () => {
  const keysOf = Object.keys(TEMPLATE);
  const odd = fc.dictionary(fc.constantFrom(...keysOf, '__proto__', 'constructor'), fc.jsonValue({ maxDepth: 3 }));
  const textOf = (value: object): string => {
    try {
      return `${checkedTemplate(value).template_name}, at peace`;
    } catch (error) {
      return error instanceof Failure ? error.message : 'no failure';
    }
  };
  fc.assert(
    fc.property(odd, fc.boolean(), (value, isComplete) => {
      expect(textOf(isComplete ? { ...TEMPLATE, ...value } : value)).toMatch(/, at .+|^Ensure|may not/);
    }),
  );
});

test('an insight that a template makes of filters says that these are not answered', async () => {
  const world = await dashboards();
  const tiles = [{ type: 'INSIGHT', name: 'Old', filters: { insight: 'TRENDS' } }];
  const path = '/dashboards/create_from_template_json/';
  const { status, body } = await world.call('POST', path, { template: { ...TEMPLATE, tiles } });
  const error = 'It has `filters` and no `query`: such filters are kept, but not answered. Give it a query.';
  const insight = { name: 'Old', filters: { insight: 'TRENDS' }, query: null, result: null, error };
  expect([status, body]).toMatchObject([200, { tiles: [{ insight }] }]);
  const [tile] = (body as unknown as { tiles: { insight: { id: number } }[] }).tiles;
  expect((await world.call('GET', `/insights/${tile?.insight.id}/`)).body).toMatchObject(insight);
  expect((await world.call('GET', `/dashboards/${String(body?.['id'])}/?refresh=blocking`)).body).toMatchObject({
    tiles: [{ insight }],
  });
});
