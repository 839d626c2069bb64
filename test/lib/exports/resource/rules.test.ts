import { DAY_MS } from '../../../../lib/basics/units.ts';
import type { BatchExportItem } from '../../../../lib/exports/records/model.ts';
import {
  backfillsAsked,
  changedFields,
  checkedSize,
  checkSelection,
  MAX_EXPORT_BYTES,
  newFields,
  projectFor,
  readTime,
  requestedRange,
  runsAsked,
} from '../../../../lib/exports/resource/rules.ts';
import { toJsonText } from '../../../../lib/ports/table/json-text.ts';
import { refusal, refused } from '../../../support/refusals.ts';
import { sampleDestination } from '../../../support/sample-destination.ts';

const NOW = Date.UTC(2026, 0, 31, 12);

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
  const event = toJsonText<unknown[]>([{ key: 'a', type: 'event' }]);

  test.each([
    ['hogql_query', { model: 'persons', hogql_query: 'SELECT event FROM events' }],
    ['filters', { model: 'persons', hogql_query: null, filters: event }],
  ] as const)('%s: %j is refused', (attr, fields) => {
    expect(refusal(() => checkSelection(fields, sampleDestination))).toEqual(
      refused(attr, `'${attr}' is only supported for 'events' not 'persons' model`),
    );
  });

  test.each([
    { model: 'events', hogql_query: 'SELECT event FROM events', filters: event },
    { model: 'persons', hogql_query: null, filters: null },
    { model: 'persons', hogql_query: null },
  ] as const)('%j passes', (fields) => expect(() => checkSelection(fields, sampleDestination)).not.toThrow());

  test('choose events, but no columns, for a receiver that takes one form of rows', () => {
    const fixed = { ...sampleDestination, hasFixedColumns: true };
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
    [
      { paused: true, last_paused_at: null },
      { paused: true, last_paused_at: NOW },
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

  test.each([null, 5])('tell when it is paused, whoever sends the time of an earlier pause (%j) along', (at) => {
    const sent = { paused: true, last_paused_at: at };
    expect(changedFields({ ...item, last_paused_at: at }, sent, NOW)).toEqual({ paused: true, last_paused_at: NOW });
    expect(changedFields({ ...item, ...sent }, sent, NOW)).toEqual(sent);
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
    destination_config: toJsonText({}),
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
      refused(null, 'A batch export may hold at most 100 KiB.'),
    );
  }
});

describe('the range of a backfill', () => {
  test('is read with its offsets', () => {
    expect(requestedRange({ start_at: '2021-01-01T02:00:00+02:00', end_at: '2021-01-01T01:30:00.5Z' }, NOW)).toEqual({
      start_at: Date.UTC(2021, 0, 1),
      end_at: Date.UTC(2021, 0, 1, 1, 30, 0, 500),
    });
  });

  test.each(['20210101T060000Z', '2021-01-01T06Z', '2021-01-01T08:00:00.0001234567890123+02'])(
    'may start at %s',
    (sent) => {
      const asked = { start_at: sent, end_at: '2021-01-02T00:00:00Z' };
      expect(requestedRange(asked, NOW).start_at).toBe(Date.UTC(2021, 0, 1, 6));
    },
  );

  test('may end now', () => {
    const end_at = new Date(NOW).toISOString();
    expect(requestedRange({ start_at: '2021-01-01T00:00:00Z', end_at }, NOW).end_at).toBe(NOW);
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
    [
      { start_at: '2021-01-01T01:00:00', end_at },
      'Input 2021-01-01T01:00:00 is naive. Add its offset from UTC, such as 2021-01-01T01:00:00Z or 2021-01-01T01:00:00+02:00.',
    ],
    [
      { start_at: '2021-01-01', end_at },
      'Input 2021-01-01 is naive. Add its offset from UTC, such as 2021-01-01T00:00:00Z or 2021-01-01T00:00:00+02:00.',
    ],
    [
      { start_at: ' 2021-01-01', end_at },
      'Input 2021-01-01 is naive. Add its offset from UTC, such as 2021-01-01T00:00:00Z or 2021-01-01T00:00:00+02:00.',
    ],
    [
      { start_at: '20210101', end_at },
      'Input 20210101 is naive. Add its offset from UTC, such as 20210101T00:00:00Z or 20210101T00:00:00+02:00.',
    ],
    [
      { start_at: '2021-01-01T01', end_at },
      'Input 2021-01-01T01 is naive. Add its offset from UTC, such as 2021-01-01T01Z or 2021-01-01T01+02:00.',
    ],
    [{ start_at: end_at, end_at: start_at }, "The initial backfill datetime 'start_at' happens after 'end_at'"],
    [{ start_at, end_at: start_at }, "The initial backfill datetime 'start_at' happens after 'end_at'"],
    [
      { start_at, end_at: '2026-01-31T12:00:01Z' },
      "The provided 'end_at' (2026-01-31T12:00:01+00:00) is in the future",
    ],
  ])('%j is refused', (body, detail) => {
    expect(refusal(() => requestedRange(body, NOW))).toEqual(refused(null, detail));
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
  test('are by creation, newest first, of the last seven days, unless asked otherwise', () => {
    expect(runsAsked({}, NOW)).toEqual({
      by: 'created_at',
      newestFirst: true,
      from: NOW - 7 * DAY_MS,
      to: NOW,
      statuses: undefined,
    });
  });

  test('by interval read start and end instead of after and before', () => {
    const query = { ordering: 'data_interval_start', start: '-2d', end: '-1d', after: 'x', before: 'y' } as const;
    expect(runsAsked({ ...query, status: ['Failed'] }, NOW)).toEqual({
      by: 'data_interval_start',
      newestFirst: false,
      from: NOW - 2 * DAY_MS,
      to: NOW - DAY_MS,
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
