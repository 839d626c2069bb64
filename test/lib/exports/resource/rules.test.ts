import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import * as z from 'zod';
import type { Config, Destination } from '../../../../lib/exports/destinations/destination.ts';
import type { BatchExportItem } from '../../../../lib/exports/records/model.ts';
import {
  backfillRange,
  backfillsAsked,
  changedFields,
  checkedConfig,
  checkedSize,
  checkSameType,
  checkSelection,
  MAX_EXPORT_BYTES,
  merge,
  newFields,
  projectFor,
  readTime,
  runsAsked,
  splitSecrets,
} from '../../../../lib/exports/resource/rules.ts';
import { type ErrorBody, Failure, invalid } from '../../../../lib/ports/errors.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';

const NOW = Date.UTC(2026, 0, 31, 12);

/** A destination with one key of every kind. */
const warehouse: Destination = {
  type: 'Warehouse',
  config: z.object({
    host: z.string(),
    dataset_id: z.string(),
    password: z.string(),
    token: z.string().nullable().default(null),
    port: z.int().default(5432),
    has_self_signed_cert: z.boolean().default(false),
    role: z.string().nullable().default(null),
    mode: z.enum(['INSERT', 'COPY']).default('INSERT'),
    copy_inputs: z
      .object({ bucket: z.string(), credentials: z.object({ secret: z.string() }) })
      .nullable()
      .default(null),
  }),
  secrets: ['password', 'token', 'secret'],
  addresses: ['host', 'port'],
  check(config) {
    if (config['role'] === '') invalid('destination', 'A role may not be empty');
  },
  steps: [],
  deliver: () => Promise.reject(new Error('not in this test')),
  commit: () => Promise.reject(new Error('not in this test')),
  discard: () => Promise.reject(new Error('not in this test')),
};

const MINIMAL = { host: 'db.example.com', dataset_id: 'd', password: 'hunter2' };

const DEFAULTS = {
  token: null,
  port: 5432,
  has_self_signed_cert: false,
  role: null,
  mode: 'INSERT',
  copy_inputs: null,
};

const checked = (sent: Config, stored?: Config): Config =>
  checkedConfig(warehouse, sent, stored, { model: 'events' }, LOCAL_SETTINGS);

function refusal(act: () => unknown): ErrorBody {
  try {
    act();
  } catch (error) {
    if (error instanceof Failure) return error.body;
    throw error;
  }
  throw new Error('nothing was refused');
}

const refused = (attr: string | null, detail: string, code = 'invalid_input') => ({
  type: 'validation_error',
  code,
  detail,
  attr,
});

describe('a config of a new export', () => {
  test('has its defaults filled in', () => {
    expect(checked(MINIMAL)).toStrictEqual({ ...MINIMAL, ...DEFAULTS });
  });

  test.each([
    [{ port: '6543' }, { port: 6543 }],
    [{ port: ' +6543 ' }, { port: 6543 }],
    [{ has_self_signed_cert: 'True' }, { has_self_signed_cert: true }],
    [{ has_self_signed_cert: 'off' }, { has_self_signed_cert: false }],
    [{ role: '5432' }, { role: '5432' }],
    [{ exclude_events: ['$pageview', '🐍'] }, { exclude_events: ['$pageview', '🐍'] }],
    [
      { include_events: [], exclude_events: null },
      { include_events: [], exclude_events: null },
    ],
    [{ interval: 'hour' }, {}],
  ])('%j becomes %j', (sent, becomes) => {
    expect(checked({ ...MINIMAL, ...sent })).toStrictEqual({ ...MINIMAL, ...DEFAULTS, ...becomes });
  });

  test.each<[Config, string]>([
    [{ ...MINIMAL, hello2: 1, hello: 2 }, "Configuration has unknown field/s: 'hello', 'hello2'"],
    [{ ...MINIMAL, constructor: 1 }, "Configuration has unknown field/s: 'constructor'"],
    [JSON.parse('{"__proto__": {"port": 1}}'), "Configuration has unknown field/s: '__proto__'"],
    [{ host: 'h', password: 'p' }, "Configuration missing required field: 'dataset_id'"],
    [{}, "Configuration missing required field: 'host'"],
    [{ ...MINIMAL, host: 1 }, "Configuration has invalid type: got 'int', expected 'str'"],
    [{ ...MINIMAL, host: 1.5 }, "Configuration has invalid type: got 'float', expected 'str'"],
    [{ ...MINIMAL, host: true }, "Configuration has invalid type: got 'bool', expected 'str'"],
    [{ ...MINIMAL, host: null }, "Configuration has invalid type: got 'NoneType', expected 'str'"],
    [{ ...MINIMAL, host: ['h'] }, "Configuration has invalid type: got 'list', expected 'str'"],
    [{ ...MINIMAL, host: { a: 1 } }, "Configuration has invalid type: got 'dict', expected 'str'"],
    [{ ...MINIMAL, port: 'many' }, "Configuration has invalid type: got 'str', expected 'int'"],
    [{ ...MINIMAL, port: 1.5 }, "Configuration has invalid type: got 'float', expected 'int'"],
    [{ ...MINIMAL, port: null }, "Configuration has invalid type: got 'NoneType', expected 'int'"],
    [{ ...MINIMAL, has_self_signed_cert: 'maybe' }, "Configuration has invalid type: got 'str', expected 'bool'"],
    [{ ...MINIMAL, has_self_signed_cert: 1 }, "Configuration has invalid type: got 'int', expected 'bool'"],
    [{ ...MINIMAL, role: 1 }, "Configuration has invalid type: got 'int', expected 'str'"],
    [{ ...MINIMAL, mode: 1 }, "Configuration has invalid type: got 'int', expected 'str'"],
    [{ ...MINIMAL, copy_inputs: 'x' }, "Configuration has invalid type: got 'str', expected 'dict'"],
    [{ ...MINIMAL, copy_inputs: {} }, "Configuration has invalid type: got 'NoneType', expected 'str'"],
    [{ ...MINIMAL, exclude_events: '$pageview' }, "Configuration has invalid type: got 'str', expected 'list'"],
    [{ ...MINIMAL, include_events: [1] }, "Configuration has invalid type: got 'int', expected 'str'"],
  ])('%j is refused', (sent, detail) => {
    expect(refusal(() => checked(sent))).toEqual(refused('destination__non_field_errors', detail));
  });

  test('is refused by the rules of its destination', () => {
    expect(refusal(() => checked({ ...MINIMAL, role: '' }))).toEqual(refused('destination', 'A role may not be empty'));
    expect(refusal(() => checked({ ...MINIMAL, mode: 'MERGE' }))).toEqual(
      refused('destination', '"MERGE" is not a valid choice.', 'invalid_choice'),
    );
  });
});

describe('a config that is changed', () => {
  const stored = checked({ ...MINIMAL, copy_inputs: { bucket: 'b', credentials: { secret: 's' } } });

  test('keeps what is not sent, at any depth', () => {
    expect(checked({ role: 'writer', copy_inputs: { bucket: 'c' } }, stored)).toStrictEqual({
      ...stored,
      role: 'writer',
      copy_inputs: { bucket: 'c', credentials: { secret: 's' } },
    });
  });

  test('may be sent as it was returned', () => {
    const { open } = splitSecrets(stored, warehouse.secrets);
    expect(checked(open, stored)).toStrictEqual(stored);
  });

  test('refuses unknown keys that are sent, and drops unknown keys that are stored', () => {
    expect(refusal(() => checked({ hello: 1 }, stored)).detail).toBe("Configuration has unknown field/s: 'hello'");
    expect(checked({ role: 'r' }, { ...stored, legacy: 1 })).toStrictEqual({ ...stored, role: 'r' });
  });

  test.each([
    [
      { host: 'other.example.com' },
      "'password', 'copy_inputs.credentials.secret' must be sent again when 'host' changes.",
    ],
    [
      { host: 'o.example.com', port: 1, password: 'x' },
      "'copy_inputs.credentials.secret' must be sent again when 'host', 'port' changes.",
    ],
  ])('needs its secrets again when its address changes: %j', (sent, detail) => {
    expect(refusal(() => checked(sent, stored))).toEqual(refused('destination', detail));
  });

  test('moves with its secrets', () => {
    const sent = { host: 'other.example.com', password: 'x', copy_inputs: { credentials: { secret: 'y' } } };
    expect(checked(sent, stored)).toStrictEqual(merge(stored, sent));
  });

  test('may repeat its address, and move without secrets when it has none', () => {
    expect(checked({ host: MINIMAL.host, port: '5432' }, stored)).toStrictEqual(stored);
    expect(
      checkedConfig({ ...warehouse, secrets: ['token'] }, { port: 1 }, stored, { model: 'events' }, LOCAL_SETTINGS),
    ).toStrictEqual({ ...stored, port: 1 });
  });

  test('keeps its type', () => {
    expect(refusal(() => checkSameType('S3', 'Folder'))).toEqual(
      refused(
        'destination',
        "Cannot change destination type from 'S3' to 'Folder'. Delete this batch export and create a new one with the " +
          'new destination type.',
      ),
    );
    expect(() => checkSameType('S3', 'S3')).not.toThrow();
  });
});

const isConfig = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Jest's own equality stumbles over keys named `constructor` and `__proto__`. */
const isSame = isDeepStrictEqual;

describe('merging', () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.integer()));
  const key = fc.oneof(fc.constantFrom('a', 'b', 'secret', '__proto__', 'constructor'), fc.string());
  const { config } = fc.letrec<{ config: Config; value: unknown }>((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, leaf, tie('config')),
    config: fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  }));
  test('nothing changes nothing', () => {
    fc.assert(
      fc.property(config, (base) => {
        expect(isSame(merge(base, {}), base)).toBe(true);
        expect(isSame(merge({}, base), base)).toBe(true);
        expect(isSame(merge(base, base), base)).toBe(true);
      }),
    );
  });

  test('every key that was sent has the value sent, every other its own', () => {
    const own = (from: Config, name: string) => (Object.hasOwn(from, name) ? from[name] : undefined);
    const isMerged = (base: Config, over: Config, merged: Config): boolean =>
      isSame(new Set(Object.keys(merged)), new Set([...Object.keys(base), ...Object.keys(over)])) &&
      Object.entries(merged).every(([name, value]) => {
        const [before, sent] = [own(base, name), own(over, name)];
        if (!Object.hasOwn(over, name)) return isSame(value, before);
        return isConfig(before) && isConfig(sent) ? isMerged(before, sent, value as Config) : isSame(value, sent);
      });
    fc.assert(fc.property(config, config, (base, over) => expect(isMerged(base, over, merge(base, over))).toBe(true)));
  });

  test('does not touch what it was given', () => {
    fc.assert(
      fc.property(config, config, (base, over) => {
        const before = JSON.stringify([base, over]);
        merge(base, over);
        expect(JSON.stringify([base, over])).toBe(before);
      }),
    );
  });

  test('puts together what splitting took apart, and the open part holds no secret', () => {
    const names = (value: Config): string[] =>
      Object.entries(value).flatMap(([name, inner]) => [name, ...(isConfig(inner) ? names(inner) : [])]);
    fc.assert(
      fc.property(config, (whole) => {
        const { open, secret } = splitSecrets(whole, ['secret', 'constructor']);
        expect(names(open)).not.toContain('secret');
        expect(names(open)).not.toContain('constructor');
        expect(isSame(merge(open, secret), whole)).toBe(true);
      }),
    );
  });
});

describe('the project of a new export', () => {
  const projects = [7, 3].map((id) => ({ id, uuid: `u${id}`, name: `P${id}`, api_token: 't' }));

  test.each([
    [undefined, 7],
    [null, 7],
    [3, 3],
    ['3', 3],
  ])('%j is %i', (asked, id) => {
    expect(projectFor(projects, asked).id).toBe(id);
  });

  test.each([
    ['x', refused('team_id', 'A valid integer is required.')],
    [[], refused('team_id', 'A valid integer is required.')],
    [9, refused('team_id', 'Invalid pk "9" - object does not exist.', 'does_not_exist')],
  ])('%j is refused', (asked, body) => {
    expect(refusal(() => projectFor(projects, asked))).toEqual(body);
  });

  test('is refused where there is none', () => {
    expect(refusal(() => projectFor([], undefined))).toMatchObject({ attr: 'team_id' });
  });
});

describe('a query and filters', () => {
  const event = JSON.stringify([{ key: 'a', type: 'event' }]);

  test.each([
    ['hogql_query', { model: 'persons', hogql_query: 'SELECT event FROM events' }],
    ['filters', { model: 'persons', hogql_query: null, filters: event }],
  ] as const)('%s: %j is refused', (attr, fields) => {
    expect(refusal(() => checkSelection(fields, warehouse))).toEqual(
      refused(attr, `'${attr}' is only supported for 'events' not 'persons' model`),
    );
  });

  test.each([
    { model: 'events', hogql_query: 'SELECT event FROM events', filters: event },
    { model: 'persons', hogql_query: null, filters: null },
    { model: 'persons', hogql_query: null },
  ] as const)('%j passes', (fields) => expect(() => checkSelection(fields, warehouse)).not.toThrow());

  test('choose events, but no columns, for a receiver that takes one form of rows', () => {
    const fixed = { ...warehouse, hasFixedColumns: true };
    const chosen = { model: 'events', hogql_query: 'SELECT event FROM events', filters: event } as const;
    expect(refusal(() => checkSelection(chosen, fixed))).toEqual(
      refused(
        'hogql_query',
        "'hogql_query' is not supported for Warehouse batch exports. " +
          "Choose events by 'filters', 'include_events' or 'exclude_events'.",
      ),
    );
    expect(() => checkSelection({ ...chosen, hogql_query: null }, fixed)).not.toThrow();
  });
});

const input = { name: 'n', destination: { type: 'S3', config: {} }, interval: 'hour' } as const;

describe('the fields of a new export', () => {
  test('have defaults', () => {
    expect(newFields(input, NOW)).toEqual({
      name: 'n',
      model: 'events',
      interval: 'hour',
      paused: false,
      last_paused_at: null,
      start_at: null,
      end_at: null,
    });
  });

  test.each([
    [{ paused: true }, NOW],
    [{ paused: true, last_paused_at: 5 }, 5],
    [{ paused: true, last_paused_at: null }, null],
    [{ last_paused_at: 5 }, 5],
  ])('%j was last paused at %j', (sent, at) => {
    expect(newFields({ ...input, ...sent }, NOW).last_paused_at).toBe(at);
  });

  test('may end when they start, not before', () => {
    expect(newFields({ ...input, start_at: 5, end_at: 5 }, NOW)).toMatchObject({ start_at: 5, end_at: 5 });
    expect(refusal(() => newFields({ ...input, start_at: 5, end_at: 4 }, NOW))).toEqual(
      refused('end_at', "'end_at' must not be before 'start_at'."),
    );
  });
});

describe('the fields that a PATCH sets', () => {
  const item = { ...newFields(input, NOW), start_at: 10, end_at: null } as unknown as BatchExportItem;

  test.each([
    [{}, {}],
    [{ name: 'm' }, { name: 'm' }],
    [{ model: null }, { model: 'events' }],
    [{ paused: true }, { paused: true, last_paused_at: NOW }],
    [
      { paused: true, last_paused_at: 5 },
      { paused: true, last_paused_at: 5 },
    ],
    [{ paused: false }, { paused: false }],
    [
      { end_at: null, start_at: null },
      { end_at: null, start_at: null },
    ],
    [{ destination: { type: 'S3', config: {} }, filters: [], team_id: 4 }, {}],
  ])('%j: %j', (patch, set) => {
    expect(changedFields(item, patch, NOW)).toStrictEqual(set);
  });

  test('leave last_paused_at alone when it is paused already', () => {
    expect(changedFields({ ...item, paused: true }, { paused: true }, NOW)).toStrictEqual({ paused: true });
  });

  test('are checked against what is stored', () => {
    expect(refusal(() => changedFields(item, { end_at: 9 }, NOW))).toMatchObject({ attr: 'end_at' });
    expect(changedFields(item, { start_at: 9, end_at: 9 }, NOW)).toStrictEqual({ start_at: 9, end_at: 9 });
  });
});

test('an export has a largest size, counted in bytes', () => {
  const item = (name: string, secrets: string | null) => ({
    name,
    destination_config: '{}',
    destination_secrets: secrets,
    hogql_query: null,
    schema: null,
  });
  const rest = MAX_EXPORT_BYTES - '{}'.length;
  expect(() => checkedSize(item('x'.repeat(rest), null))).not.toThrow();
  expect(() => checkedSize(item('x'.repeat(rest - 5), '12345'))).not.toThrow();
  for (const [name, secrets] of [
    ['x'.repeat(rest + 1), null],
    ['x'.repeat(rest), 's'],
    ['é'.repeat(rest / 2 + 1), null],
  ] as const) {
    expect(refusal(() => checkedSize(item(name, secrets)))).toEqual(
      refused(null, 'A batch export may hold at most 100 KB.'),
    );
  }
});

describe('the range of a backfill', () => {
  test('is read with its offsets', () => {
    expect(backfillRange({ start_at: '2021-01-01T02:00:00+02:00', end_at: '2021-01-01T01:30:00.5Z' }, NOW)).toEqual({
      start_at: Date.UTC(2021, 0, 1),
      end_at: Date.UTC(2021, 0, 1, 1, 30, 0, 500),
    });
  });

  test('may end now', () => {
    const end_at = new Date(NOW).toISOString();
    expect(backfillRange({ start_at: '2021-01-01T00:00:00Z', end_at }, NOW).end_at).toBe(NOW);
  });

  const start_at = '2021-01-01T00:00:00+00:00';
  const end_at = '2021-01-02T00:00:00+00:00';
  test.each([
    [{}, 'Backfilling a BatchExport with no start date is not allowed'],
    [{ start_at: null, end_at }, 'Backfilling a BatchExport with no start date is not allowed'],
    [{ start_at }, 'Backfilling a BatchExport with no end date is not allowed'],
    [{ start_at, end_at: null }, 'Backfilling a BatchExport with no end date is not allowed'],
    [{ start_at: 'not a date', end_at }, 'Input not a date is not a valid ISO formatted datetime.'],
    [{ start_at, end_at: '2021-02-30T00:00:00Z' }, 'Input 2021-02-30T00:00:00Z is not a valid ISO formatted datetime.'],
    [{ start_at: 5, end_at }, 'Input 5 is not a valid ISO formatted datetime.'],
    [{ start_at: '', end_at }, 'Input  is not a valid ISO formatted datetime.'],
    [{ start_at: '2021-01-01T01:00:00', end_at }, 'Input 2021-01-01T01:00:00 is naive.'],
    [{ start_at: '2021-01-01', end_at }, 'Input 2021-01-01 is naive.'],
    [{ start_at: end_at, end_at: start_at }, "The initial backfill datetime 'start_at' happens after 'end_at'"],
    [{ start_at, end_at: start_at }, "The initial backfill datetime 'start_at' happens after 'end_at'"],
    [
      { start_at, end_at: '2026-01-31T12:00:01Z' },
      "The provided 'end_at' (2026-01-31T12:00:01+00:00) is in the future",
    ],
  ])('%j is refused', (body, detail) => {
    expect(refusal(() => backfillRange(body, NOW))).toEqual(refused(null, detail));
  });
});

describe('times in queries', () => {
  test.each([
    ['2021-01-01T00:00:00Z', '2021-01-01T00:00:00.000Z'],
    ['2021-01-01T00:00:00', '2021-01-01T00:00:00.000Z'],
    ['2021-01-01', '2021-01-01T00:00:00.000Z'],
    ['-0d', '2026-01-31T12:00:00.000Z'],
    ['-90s', '2026-01-31T11:58:30.000Z'],
    ['-5M', '2026-01-31T11:55:00.000Z'],
    ['-24h', '2026-01-30T12:00:00.000Z'],
    ['-7d', '2026-01-24T12:00:00.000Z'],
    ['-2w', '2026-01-17T12:00:00.000Z'],
    ['-2m', '2025-11-30T12:00:00.000Z'],
    ['-1q', '2025-10-31T12:00:00.000Z'],
    ['-1y', '2025-01-31T12:00:00.000Z'],
    ['-99999y', '1970-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, instant) => {
    expect(new Date(readTime(text, NOW) ?? Number.NaN).toISOString()).toBe(instant);
  });

  test.each(['', 'yesterday', '7d', '-7', '-d', '-7x', '-1000000d', '2021-13-01', '--7d'])('%j is none', (text) => {
    expect(readTime(text, NOW)).toBeUndefined();
  });
});

describe('lists of runs', () => {
  const DAY = 86_400_000;

  test('are by creation, newest first, of the last seven days, unless asked otherwise', () => {
    expect(runsAsked({}, NOW)).toEqual({
      by: 'created_at',
      newestFirst: true,
      from: NOW - 7 * DAY,
      to: NOW,
      statuses: undefined,
    });
  });

  test('by interval read start and end instead of after and before', () => {
    const query = { ordering: 'data_interval_start', start: '-2d', end: '-1d', after: 'x', before: 'y' } as const;
    expect(runsAsked({ ...query, status: ['Failed'] }, NOW)).toEqual({
      by: 'data_interval_start',
      newestFirst: false,
      from: NOW - 2 * DAY,
      to: NOW - DAY,
      statuses: new Set(['Failed']),
    });
  });

  test.each([
    [{ after: 'x' }, 'after'],
    [{ before: '' }, 'before'],
    [{ ordering: '-data_interval_start', start: '1' }, 'start'],
    [{ ordering: '-data_interval_start', end: '1' }, 'end'],
  ] as const)('%j is refused', (query, attr) => {
    expect(refusal(() => runsAsked(query, NOW))).toMatchObject({ type: 'validation_error', attr });
  });
});

test('lists of backfills are by creation, newest first, unless asked otherwise', () => {
  expect(backfillsAsked({})).toEqual({ by: 'created_at', newestFirst: true });
  expect(backfillsAsked({ ordering: 'start_at' })).toEqual({ by: 'start_at', newestFirst: false });
  expect(backfillsAsked({ ordering: '-start_at' })).toEqual({ by: 'start_at', newestFirst: true });
});
