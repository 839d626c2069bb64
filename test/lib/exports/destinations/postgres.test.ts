import { HOUR_MS } from '../../../../lib/basics/units.ts';
import type { Delivery } from '../../../../lib/exports/destinations/destination.ts';
import { postgres } from '../../../../lib/exports/destinations/postgres.ts';
import { Permanent, Transient } from '../../../../lib/ports/errors.ts';
import type { Column } from '../../../../lib/warehouse/columns.ts';
import { eventRows, type PersonRow, personRows } from '../../../support/copy-rows.ts';
import { atOnce, delivery, EXPORT, INTERVAL, OTHER_EXPORT, OTHER_RUN, RUN, send } from '../../../support/delivery.ts';
import { describeOnPostgres, newDatabase, type PostgresDatabase } from '../../../support/postgres.ts';

type Config = Parameters<typeof postgres.deliver>[0]['config'];
type Changes = Partial<Delivery<Config>>;

const THIRD_EXPORT = '01890000-0000-7000-8000-000000000008';

let database: PostgresDatabase;
let schema: string;
let said: string[];

describeOnPostgres('Postgres', () => {
  beforeAll(async () => {
    database = await newDatabase();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    schema = await database.newSchema();
    said = [];
  });

  const sql = (text: string) => database.sql(text);
  const given = (changes: Changes = {}, config: object = {}): Delivery<Config> =>
    delivery(postgres, { ...database.config, schema, ...config }, 0, {
      rows: () => eventRows(0, 1000),
      say: (_level, message) => said.push(message),
      ...changes,
    });
  const deliver = (changes: Changes = {}, config: object = {}) => send(postgres, given(changes, config));
  /** Events of another project, with the uuids of the first one's. */
  const projectTwo = (count: number): Changes => ({
    teamId: 2,
    rows: async function* () {
      const replaced = (lines: Buffer) => lines.toString().replaceAll('\t1\t10.0.0.1\t', '\t2\t10.0.0.1\t');
      for await (const piece of eventRows(0, count)) yield Buffer.from(replaced(piece));
    },
  });
  const persons = (rows: readonly PersonRow[]): Changes => ({ model: 'persons', rows: () => personRows(rows) });
  /** How many rows the table has, and how many uuids. */
  const counts = async (table = 'events') => {
    const [row] = await sql(`SELECT count(*) AS rows, count(DISTINCT uuid) AS uuids FROM ${table}`);
    return [Number(row?.['rows']), Number(row?.['uuids'])];
  };

  describe('events', () => {
    test('come into a table that is made for them, value by value, and are seen when they are committed', async () => {
      const one = given({ rows: () => eventRows(3, 1) });
      const prepared = await postgres.deliver(one);
      expect(await counts()).toEqual([0, 0]);
      await postgres.commit(one, prepared);
      expect(await sql(`SELECT *, properties->>'text' AS text, properties->>'path' AS path FROM events`)).toEqual([
        {
          uuid: '01890000-0000-7000-8000-000000000003',
          event: 'paid',
          properties: '{"n": 3, "path": "/page/3\\\\", "text": "tab\\tand\\nline"}',
          elements: null,
          set: '{"plan": "pro"}',
          set_once: null,
          distinct_id: 'person-3',
          team_id: '1',
          ip: '10.0.0.1',
          site_url: '',
          timestamp: '2023-07-28 00:00:00.003+00',
          person_id: null,
          person_properties: null,
          text: 'tab\tand\nline',
          path: '/page/3\\',
        },
      ]);
      expect(prepared.receipt.bytes).toBeGreaterThan(100);
      const types = await sql(
        `SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute
        WHERE attrelid = 'events'::regclass AND attnum > 0 ORDER BY attnum`,
      );
      expect(types.map(({ type }) => type)).toEqual([
        'character varying(200)',
        'character varying(200)',
        'jsonb',
        'jsonb',
        'jsonb',
        'jsonb',
        'character varying(200)',
        'integer',
        'character varying(200)',
        'character varying(200)',
        'timestamp with time zone',
        'character varying(200)',
        'jsonb',
      ]);
    });

    test('that a trigger of the table leaves out are told of, and the ledger has all that were sent', async () => {
      await deliver({ rows: () => eventRows(0, 1) });
      await sql(`CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.event = 'paid' THEN RETURN NULL; END IF; RETURN NEW; END $$;
        CREATE TRIGGER leave_out BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION leave_out()`);
      const interval = { start: INTERVAL.end, end: INTERVAL.end + HOUR_MS };
      const columns: Delivery<Config>['columns'] = (all) => all.filter(({ name }) => name !== 'uuid');
      const rows = async function* () {
        for await (const piece of eventRows(10, 3000)) yield Buffer.from(piece.toString().replace(/^[^\t]*\t/gm, ''));
      };
      await deliver({ interval, columns, rows });
      expect(said).toEqual([
        `"${schema}"."events" took 2000 of 3000 rows: a trigger of it leaves rows out, or moves them.`,
      ]);
      const noted = `SELECT records FROM batch_export_deliveries WHERE interval_start = '2023-07-28T01:00Z'`;
      expect(await sql(noted)).toEqual([{ records: '3000' }]);
      // Without uuids their number tells that they are there already.
      await deliver({ interval, columns, rows, runId: OTHER_RUN });
      expect(said.at(-1)).toContain('was delivered before, with as many rows: nothing was added.');
    });

    test('are noted in a ledger beside the table', async () => {
      await deliver();
      expect(await sql('SELECT * FROM batch_export_deliveries')).toEqual([
        {
          batch_export_id: given().exportId,
          table_name: 'events',
          interval_start: '2023-07-28 00:00:00+00',
          interval_end: '2023-07-28 01:00:00+00',
          run_id: RUN,
          records: '1000',
          delivered_at: expect.any(String),
          team_id: '1',
          uuid_column: 'uuid',
        },
      ]);
    });

    test('that were committed are not delivered again by the same run, with and without its receipt', async () => {
      const { bytes } = await deliver();
      await postgres.commit(given(), { receipt: { bytes } });
      await deliver();
      expect(await counts()).toEqual([1000, 1000]);
    });

    test('that another run delivers once more add what is new, and nothing twice', async () => {
      await deliver();
      await deliver({ runId: OTHER_RUN, rows: () => eventRows(0, 1500) });
      expect(await counts()).toEqual([1500, 1500]);
      expect(said).toEqual([
        'This interval was delivered before: of 1500 rows 500 were new, the others are in the table already.',
      ]);
      expect(await sql('SELECT run_id, records FROM batch_export_deliveries')).toEqual([
        { run_id: OTHER_RUN, records: '1500' },
      ]);
      // A ghost of the first run changes nothing either.
      await deliver();
      expect(await counts()).toEqual([1500, 1500]);
    });

    test('of an interval that overlaps one that was delivered are merged with it', async () => {
      await deliver();
      const interval = { start: INTERVAL.start + HOUR_MS / 2, end: INTERVAL.end + HOUR_MS / 2 };
      await deliver({ runId: OTHER_RUN, interval, rows: () => eventRows(500, 1000) });
      expect(await counts()).toEqual([1500, 1500]);
    });

    describe('of one uuid that differ in name, distinct_id or timestamp', () => {
      const four = async () => {
        const line = (await atOnce(eventRows(1, 1))).toString();
        const [event, person, instant] = ['$pageview', 'person-1', '00:00:00.001000Z'];
        return [
          line,
          line.replace(event, 'paid'),
          line.replace(person, 'person-2'),
          line.replace(instant, '00:00:00.001001Z'),
        ];
      };
      const rows = (from: number, count: number) =>
        async function* () {
          yield Buffer.from((await four()).slice(from, from + count).join(''));
        };
      const seen = () => sql('SELECT event, distinct_id, timestamp FROM events ORDER BY 1, 2, 3');

      test('are all there, by whichever way, and nothing twice: at once, overlapping, retried, after a death', async () => {
        await deliver({ rows: rows(0, 4) });
        const whole = await seen();
        expect(whole).toHaveLength(4);
        schema = await database.newSchema();

        await deliver({ rows: rows(0, 1) });
        const dying = async function* () {
          yield* rows(0, 3)();
          throw new Transient('The process ended.');
        };
        await expect(deliver({ runId: OTHER_RUN, rows: dying })).rejects.toThrow(Transient);
        const interval = { start: INTERVAL.start + HOUR_MS / 2, end: INTERVAL.end + HOUR_MS / 2 };
        await deliver({ exportId: OTHER_EXPORT, interval, rows: rows(1, 2) });
        await deliver({ runId: OTHER_RUN, rows: rows(0, 4) });
        expect(said.at(-1)).toContain('of 4 rows 1 were new');
        expect(await seen()).toEqual(whole);
        await deliver({ runId: RUN.replace('2', '5'), rows: rows(0, 4) });
        expect(await seen()).toEqual(whole);
      });

      test('are told apart as finely as the table keeps their time, and not twice where it keeps less', async () => {
        await sql(`CREATE TABLE coarse (uuid TEXT, event TEXT, distinct_id TEXT, "timestamp" TIMESTAMPTZ(0))`);
        const columns = () =>
          ['uuid', 'event', 'distinct_id', 'timestamp'].map((name): Column => {
            const type = name === 'timestamp' ? 'instant' : 'text';
            return { name, type, field: name };
          });
        const lines = async function* () {
          yield Buffer.from(['1', '2'].map((ms) => `u\te\td\t2023-07-28T00:00:00.00${ms}Z\n`).join(''));
        };
        await deliver({ columns, rows: lines }, { table_name: 'coarse' });
        await deliver({ columns, rows: lines, runId: OTHER_RUN }, { table_name: 'coarse' });
        expect(await counts('coarse')).toEqual([2, 1]);
      });

      test('are known by their uuid alone in rows from before the query had those columns', async () => {
        const bare = () => [{ name: 'uuid', type: 'text' as const, field: 'uuid' }];
        const uuid = (await four())[0]?.split('\t')[0];
        const uuids = async function* () {
          yield Buffer.from(`${uuid}\n`);
        };
        await deliver({ columns: bare, rows: uuids });
        await deliver({ runId: OTHER_RUN, rows: rows(0, 4) }, { use_automatic_schema_evolution: true });
        expect(await counts()).toEqual([1, 1]);
      });
    });

    test('of other intervals, tables and projects are not compared', async () => {
      await deliver();
      await deliver({ runId: OTHER_RUN, interval: { start: INTERVAL.end, end: INTERVAL.end + HOUR_MS } });
      await deliver({ exportId: OTHER_EXPORT, runId: OTHER_RUN, ...projectTwo(1000) });
      expect(await counts()).toEqual([3000, 1000]);
      await deliver({ runId: OTHER_RUN }, { table_name: 'Other' });
      expect(await counts('"Other"')).toEqual([1000, 1000]);
      expect(said).toEqual([]);
    });

    test('are not left out because another project has events of the same uuids in the table', async () => {
      await deliver({ rows: () => eventRows(0, 10) });
      await deliver({ exportId: OTHER_EXPORT, runId: OTHER_RUN, ...projectTwo(5) });
      await deliver({ exportId: OTHER_EXPORT, ...projectTwo(10) });
      expect(await sql('SELECT team_id, count(*) FROM events GROUP BY 1 ORDER BY 1')).toEqual([
        { team_id: '1', count: '10' },
        { team_id: '2', count: '10' },
      ]);
    });

    test('that another export of the project has delivered into the table are merged with its own', async () => {
      await deliver();
      await deliver({ exportId: OTHER_EXPORT, runId: OTHER_RUN, rows: () => eventRows(0, 1500) });
      expect(await counts()).toEqual([1500, 1500]);
      expect(said).toEqual([
        'Another batch export has delivered into the table in this interval: of 1500 rows 500 were new, the others are in ' +
          'the table already.',
      ]);
      expect(await sql('SELECT batch_export_id, records FROM batch_export_deliveries ORDER BY 1')).toEqual([
        { batch_export_id: EXPORT, records: '1000' },
        { batch_export_id: OTHER_EXPORT, records: '1500' },
      ]);
    });

    test('of two exports at once are there once', async () => {
      const other = given({ exportId: OTHER_EXPORT, runId: OTHER_RUN });
      await Promise.all([deliver(), send(postgres, other)]);
      expect(await counts()).toEqual([1000, 1000]);
    });

    test('sent by two workers at once are there once, whether the runs are the same or not', async () => {
      await Promise.all([deliver(), send(postgres, given())]);
      expect(await counts()).toEqual([1000, 1000]);
      const interval = { start: INTERVAL.end, end: INTERVAL.end + HOUR_MS };
      const rows = () => eventRows(1000, 1000);
      await Promise.all([deliver({ interval, rows }), send(postgres, given({ interval, rows, runId: OTHER_RUN }))]);
      expect(await counts()).toEqual([2000, 2000]);
    });

    describe('of two intervals that overlap, at once, are there once:', () => {
      const longer = { start: INTERVAL.start, end: INTERVAL.end + HOUR_MS };
      const other = (rows: Changes['rows']): Delivery<Config> =>
        given({ exportId: OTHER_EXPORT, runId: OTHER_RUN, interval: longer, ...(rows && { rows }) });

      test('who was the first when it began is tried again, and merges', async () => {
        const first = given();
        const prepared = await postgres.deliver(first);
        const second = other(async function* () {
          await postgres.commit(first, prepared);
          yield* eventRows(0, 1500);
        });
        await expect(send(postgres, second)).rejects.toThrow(Transient);
        expect(await counts()).toEqual([1000, 1000]);
        await send(
          postgres,
          other(() => eventRows(0, 1500)),
        );
        expect(await counts()).toEqual([1500, 1500]);
      });

      test('so is who has merged while others have not committed', async () => {
        await deliver();
        const first = given({ runId: OTHER_RUN, rows: () => eventRows(0, 1200) });
        const prepared = await postgres.deliver(first);
        const second = other(() => eventRows(0, 1500));
        const sent = send(postgres, second);
        await Promise.race([sent, oneWaits()]);
        await postgres.commit(first, prepared);
        await expect(sent).rejects.toThrow(Transient);
        expect(await counts()).toEqual([1200, 1200]);
        await send(postgres, second);
        expect(await counts()).toEqual([1500, 1500]);
      });
    });

    test('of many intervals at once come into one new table', async () => {
      const intervals = Array.from({ length: 8 }, (_, n) => ({
        start: INTERVAL.end + n * HOUR_MS,
        end: INTERVAL.end + (n + 1) * HOUR_MS,
      }));
      await Promise.all(
        intervals.map((interval, n) => send(postgres, given({ interval, rows: () => eventRows(n * 100, 100) }))),
      );
      expect(await counts()).toEqual([800, 800]);
    });

    test('are gone without a trace when they are discarded', async () => {
      await deliver({ rows: () => eventRows(0, 10) });
      const second = given({ runId: OTHER_RUN, rows: () => eventRows(0, 20) });
      const prepared = await postgres.deliver(second);
      await postgres.discard({ ...second, signal: AbortSignal.timeout(1000) }, prepared);
      await postgres.discard(second, undefined);
      expect(await counts()).toEqual([10, 10]);
      expect(await sql('SELECT run_id FROM batch_export_deliveries')).toEqual([{ run_id: RUN }]);
      expect(await sessions()).toBe(0);
    });

    test('whose transaction the server rolls back at the commit are not taken for delivered', async () => {
      const prepared = await postgres.deliver(given());
      // Whose transaction has failed is answered ROLLBACK, and no error.
      await expect(prepared.held?.query('SELECT 1 / 0')).rejects.toThrow('division by zero');
      const committed = postgres.commit(given(), prepared);
      await expect(committed).rejects.toThrow(new Transient('The database answered ROLLBACK to a commit.'));
      expect(await sessions()).toBe(0);
      await deliver();
      expect(await counts()).toEqual([1000, 1000]);
    });

    test('whose delivery is cancelled on the way are gone without a trace', async () => {
      await deliver({ rows: () => eventRows(0, 10) });
      const cancel = new AbortController();
      async function* rows() {
        yield* eventRows(0, 2000);
        cancel.abort(new Error('cancelled'));
        yield* eventRows(2000, 2000);
      }
      const cancelled = given({ runId: OTHER_RUN, rows, signal: cancel.signal });
      await expect(postgres.deliver(cancelled)).rejects.toThrow('cancelled');
      await quiet();
      expect(await counts()).toEqual([10, 10]);
      expect(await sql('SELECT run_id FROM batch_export_deliveries')).toEqual([{ run_id: RUN }]);
    });

    test('whose rows cannot be read end with that error and leave no trace', async () => {
      async function* rows() {
        yield* eventRows(0, 2000);
        throw Object.assign(new Error('the lake is dry'), { code: 'ENOENT' });
      }
      await expect(postgres.deliver(given({ rows }))).rejects.toThrow('the lake is dry');
      await quiet();
      expect(await counts()).toEqual([0, 0]);
      expect(await sql('SELECT run_id FROM batch_export_deliveries')).toEqual([]);
    });

    test('of a query come as its columns, merged by its uuid under whatever name', async () => {
      const columns = () => [
        { name: 'id"; DROP TABLE events; --', type: 'text' as const, field: 'uuid' },
        { name: 'amount', type: 'float' as const, field: 'amount' },
        { name: 'tags', type: 'texts' as const, field: 'tags' },
        { name: 'ok', type: 'boolean' as const, field: 'ok' },
        { name: 'count', type: 'integer' as const, field: 'n' },
      ];
      const rows = (count: number) =>
        async function* () {
          for (let n = 0; n < count; n += 1) yield Buffer.from(`${n}\t1.5\t["a"]\tt\t9007199254740993\n`);
        };
      await deliver({ columns, rows: rows(2) }, { table_name: 'mine' });
      await deliver({ columns, rows: rows(3), runId: OTHER_RUN }, { table_name: 'mine' });
      expect(await sql('SELECT * FROM mine ORDER BY 1')).toEqual(
        ['0', '1', '2'].map((id) => ({
          'id"; DROP TABLE events; --': id,
          amount: '1.5',
          tags: '["a"]',
          ok: 't',
          count: '9007199254740993',
        })),
      );
    });

    test('of a query without uuid are not added twice, and a different number of them is for a person to look at', async () => {
      const columns = () => [{ name: 'event', type: 'text' as const, field: 'event' }];
      const rows = (count: number) =>
        async function* () {
          yield Buffer.from('paid\n'.repeat(count));
        };
      await deliver({ columns, rows: rows(5) });
      await deliver({ columns, rows: rows(5), runId: OTHER_RUN });
      expect(await sql('SELECT count(*) FROM events')).toEqual([{ count: '5' }]);
      expect(said).toEqual([expect.stringContaining('nothing was added')]);
      await expect(deliver({ columns, rows: rows(6), runId: OTHER_RUN.replace('3', '4') })).rejects.toThrow(Permanent);
      expect(await sql('SELECT count(*) FROM events')).toEqual([{ count: '5' }]);
    });

    describe('whose query has changed', () => {
      const COLUMNS: Record<string, Column> = {
        uuid: { name: 'uuid', type: 'text', field: 'uuid' },
        id: { name: 'id', type: 'text', field: 'uuid' },
        event: { name: 'event', type: 'text', field: 'event' },
        timestamp: { name: 'timestamp', type: 'instant', field: 'timestamp' },
        at: { name: 'at', type: 'instant', field: 'timestamp' },
      };
      const VALUES: Record<string, (n: number) => string> = {
        uuid: (n) => `u${n}`,
        event: () => 'paid',
        timestamp: (n) => new Date(INTERVAL.start + n).toISOString(),
      };
      const selecting = (...names: string[]): Changes => {
        const columns = names.map((name) => COLUMNS[name]).filter((column) => column !== undefined);
        const line = (n: number) => columns.map(({ field }) => VALUES[field]?.(n)).join('\t');
        return {
          columns: () => columns,
          rows: async function* () {
            yield Buffer.from(`${line(1)}\n${line(2)}\n`);
          },
        };
      };
      const EVOLVING = { use_automatic_schema_evolution: true };
      const count = async () => (await sql('SELECT count(*) FROM events'))[0]?.['count'];

      test.each([
        ['is added', ['uuid', 'event'], ['uuid', 'event', 'timestamp']],
        ['gets another name', ['uuid', 'at'], ['uuid', 'timestamp']],
      ])('are known though the timestamp %s', async (_what, before, after) => {
        await deliver(selecting(...before));
        await deliver({ ...selecting(...after), runId: OTHER_RUN }, EVOLVING);
        expect(await count()).toBe('2');
        expect(said).toEqual([
          'This interval was delivered before: of 2 rows 0 were new, the others are in the table already.',
        ]);
      });

      test.each([
        ['is added', ['event'], 'before, without uuid, so that nobody can tell'],
        ['gets another name', ['id', 'event'], 'before, with uuid as "id", so that nobody can tell'],
      ])('are not added twice when the uuid %s: that fails, and says what to do', async (_what, before, reason) => {
        await deliver(selecting(...before));
        const failed = deliver({ ...selecting('uuid', 'event'), runId: OTHER_RUN }, EVOLVING);
        await expect(failed).rejects.toThrow(Permanent);
        await expect(failed).rejects.toThrow(reason);
        expect(await count()).toBe('2');
      });

      test('and changed back are known by the uuid that they have had all the time', async () => {
        await deliver(selecting('uuid', 'event'));
        await deliver({ ...selecting('event'), runId: OTHER_RUN });
        await deliver({ ...selecting('uuid', 'event') });
        expect(await count()).toBe('2');
      });

      test('are added with a warning where another export delivered without a uuid by which to tell them', async () => {
        await deliver(selecting('event'));
        const other = { exportId: OTHER_EXPORT, runId: OTHER_RUN };
        await deliver({ ...selecting('event'), ...other });
        expect(await count()).toBe('4');
        expect(said).toEqual([expect.stringContaining('may be in the table twice')]);
        await deliver({ ...selecting('uuid', 'event'), exportId: THIRD_EXPORT }, EVOLVING);
        expect(await count()).toBe('6');
        expect(said.slice(1)).toEqual([said[0], expect.stringContaining('of 2 rows 2 were new')]);
      });
    });

    test('are merged beside a ledger from before it told of uuids and projects, which gets columns for them', async () => {
      await deliver();
      await sql('ALTER TABLE batch_export_deliveries DROP COLUMN team_id, DROP COLUMN uuid_column');
      await deliver({ runId: OTHER_RUN, rows: () => eventRows(0, 1500) });
      expect(await counts()).toEqual([1500, 1500]);
      expect(await sql('SELECT team_id, uuid_column FROM batch_export_deliveries')).toEqual([
        { team_id: '1', uuid_column: 'uuid' },
      ]);
    });
  });

  describe('persons', () => {
    const rows = async () => sql("SELECT distinct_id, properties->>'name' AS name, is_deleted FROM events ORDER BY 1");

    test('come into a table with a key, and a newer version of person or mapping replaces an older one', async () => {
      await deliver(
        persons([
          { distinct_id: 'a', person_version: 5, mapping_version: 5 },
          { distinct_id: 'b', person_version: 5, mapping_version: 5 },
          { distinct_id: 'c', person_version: 5, mapping_version: 5 },
        ]),
      );
      await deliver({
        ...persons([
          { distinct_id: 'a', person_version: 4, mapping_version: 5, name: 'older' },
          { distinct_id: 'b', person_version: 6, mapping_version: 5, name: 'newer' },
          { distinct_id: 'c', person_version: 5, mapping_version: 6, name: 'moved', is_deleted: true },
          { distinct_id: 'd', person_version: 1, mapping_version: 1, name: 'new' },
        ]),
        runId: OTHER_RUN,
      });
      expect(await rows()).toEqual([
        { distinct_id: 'a', name: 'Ada', is_deleted: 'f' },
        { distinct_id: 'b', name: 'newer', is_deleted: 'f' },
        { distinct_id: 'c', name: 'moved', is_deleted: 't' },
        { distinct_id: 'd', name: 'new', is_deleted: 'f' },
      ]);
    });

    test('delivered again change nothing', async () => {
      const some = persons([{ distinct_id: 'a', person_version: 5, mapping_version: 5 }]);
      await deliver(some);
      const before = await sql('SELECT xmin, * FROM events');
      await deliver(some);
      await deliver({ ...some, runId: OTHER_RUN });
      expect(await sql('SELECT xmin, * FROM events')).toEqual(before);
    });

    test('need a key, and a table without one is told how to get it', async () => {
      await sql(`CREATE TABLE events (team_id int, distinct_id text, person_id text, properties jsonb,
      person_distinct_id_version bigint, person_version bigint, created_at timestamptz, is_deleted bool)`);
      const failed = deliver(persons([{ distinct_id: 'a', person_version: 5, mapping_version: 5 }]));
      await expect(failed).rejects.toThrow(Permanent);
      await expect(failed).rejects.toThrow('"events" ADD PRIMARY KEY ("team_id", "distinct_id")');
    });
  });
});

/** How many sessions of exports there are. */
async function sessions(): Promise<number> {
  const [row] = await database.sql(`SELECT count(*) FROM pg_stat_activity
    WHERE application_name = 'batch export' AND datname = current_database()`);
  return Number(row?.['count']);
}

/** Until the server has noticed that connections were cut. */
async function quiet(): Promise<void> {
  while ((await sessions()) > 0) await database.sql('SELECT pg_sleep(0.01)');
}

/** Until one waits for the transaction of another. */
async function oneWaits(): Promise<void> {
  const waiting = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`;
  while ((await database.sql(waiting)).length === 0) await database.sql('SELECT pg_sleep(0.01)');
}
