/** Redshift, as far as PostgreSQL speaks its language: with a type and two functions more, and COPY done by a proxy. */
import { HOUR_MS } from '../../../../lib/basics/units.ts';
import { checkedConfig } from '../../../../lib/exports/destinations/config.ts';
import type { Delivery } from '../../../../lib/exports/destinations/destination.ts';
import { redshift, redshiftVia } from '../../../../lib/exports/destinations/redshift.ts';
import { splitSecrets } from '../../../../lib/exports/destinations/secrets.ts';
import { Failure, Permanent, Transient } from '../../../../lib/ports/errors.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { type Bucket, startBucket } from '../../../support/bucket.ts';
import { eventRows, type PersonRow, personRows } from '../../../support/copy-rows.ts';
import {
  check,
  delivery,
  INTERVAL,
  OTHER_EXPORT,
  OTHER_RUN,
  type planned,
  RUN,
  send,
} from '../../../support/delivery.ts';
import { describeOnPostgres, newDatabase, type PostgresDatabase } from '../../../support/postgres.ts';
import { startPostgresProxy } from '../../../support/postgres-proxy.ts';
import { REDSHIFT_WORDS, type RedshiftProxy, startRedshiftProxy } from '../../../support/redshift-stand-in.ts';

const SERVER = { user: 'u', password: 'p', host: 'cluster.example.org', database: 'd' };
const KEYS = { aws_access_key_id: 'AKIATEST', aws_secret_access_key: 'secret-of-the-test' };
const INPUTS = { s3_bucket: 'exports', region_name: 'us-east-1', bucket_credentials: KEYS, authorization: KEYS };

describe('a config', () => {
  const checked = (sent: object, stored?: object) =>
    checkedConfig(redshift, { ...sent }, stored && { ...stored }, { model: 'events' }, LOCAL_SETTINGS);
  const refusal = (sent: object, stored?: object): unknown => {
    try {
      return checked(sent, stored);
    } catch (error) {
      return error instanceof Failure ? error.message : error;
    }
  };

  test('inserts text on port 5439 unless it says otherwise', () => {
    expect(checked(SERVER)).toEqual({
      ...SERVER,
      port: 5439,
      schema: 'public',
      table_name: 'events',
      properties_data_type: 'varchar',
      mode: 'INSERT',
      copy_inputs: null,
      use_automatic_schema_evolution: false,
    });
  });

  test.each([
    [{}, "Missing required inputs for 'COPY'"],
    [{ copy_inputs: null }, "Missing required inputs for 'COPY'"],
    [{ copy_inputs: { s3_bucket: 'exports' } }, "Missing required input for 'COPY'"],
    [{ copy_inputs: { ...INPUTS, region_name: '' } }, "Missing required input for 'COPY'"],
    [{ copy_inputs: { ...INPUTS, authorization: undefined } }, "Missing required input for 'COPY'"],
    [
      { copy_inputs: { ...INPUTS, bucket_credentials: { aws_access_key_id: 'a' } } },
      "Missing required bucket credentials for 'COPY'",
    ],
    [
      { copy_inputs: { ...INPUTS, authorization: { aws_access_key_id: 'a' } } },
      "Missing required credentials for 'COPY'",
    ],
    [{ copy_inputs: { ...INPUTS, authorization: ' ' } }, "Missing required IAM role for 'COPY'"],
    [
      { copy_inputs: { ...INPUTS, authorization: "x' MANIFEST; DROP TABLE events; --" } },
      "authorization must be the ARN of a role, 'default', or an access key with its secret.",
    ],
    [
      { copy_inputs: { ...INPUTS, authorization: 5 } },
      "'copy_inputs.authorization' has an invalid value: Invalid input",
    ],
    [{ copy_inputs: { ...INPUTS, s3_bucket: "it's" } }, 's3_bucket is not the name of a bucket.'],
    [
      { copy_inputs: { ...INPUTS, s3_key_prefix: 'a\\b' } },
      's3_key_prefix may have 512 bytes, without control characters and backslashes.',
    ],
    [{ mode: 'MERGE' }, '"MERGE" is not a valid choice. Choose one of: INSERT, COPY.'],
    [{ properties_data_type: 'json' }, '"json" is not a valid choice. Choose one of: varchar, super.'],
    [{ table_name: 'x'.repeat(128) }, 'table_name is too long: a name may have 127 bytes.'],
  ])('for COPY with %j is refused', (sent, detail) => {
    expect(refusal({ ...SERVER, mode: 'COPY', ...sent })).toBe(detail);
  });

  test.each([
    [{ ...INPUTS, s3_key_prefx: 'p/', extra: 5 }, "'copy_inputs.extra', 'copy_inputs.s3_key_prefx'"],
    [{ ...INPUTS, bucket_credentials: { ...KEYS, token: 't' } }, "'copy_inputs.bucket_credentials.token'"],
    [{ ...INPUTS, authorization: { ...KEYS, token: 't' } }, "'copy_inputs.authorization.token'"],
  ])('refuses fields of COPY that it does not know: %j', (copy_inputs, names) => {
    const detail = `Configuration has unknown field/s: ${names}`;
    expect(refusal({ ...SERVER, mode: 'COPY', copy_inputs })).toBe(detail);
    expect(refusal({ copy_inputs }, checked({ ...SERVER, mode: 'COPY', copy_inputs: INPUTS }))).toBe(detail);
  });

  test('needs its secrets again when the bucket or the role of COPY changes', () => {
    const role = 'arn:aws:iam::123456789012:role/copy';
    const stored = checked({ ...SERVER, mode: 'COPY', copy_inputs: { ...INPUTS, authorization: role } });
    const keys =
      "'copy_inputs.bucket_credentials.aws_access_key_id', 'copy_inputs.bucket_credentials.aws_secret_access_key'";
    for (const [name, value] of [
      ['s3_bucket', 'another'],
      ['authorization', 'arn:aws:iam::123456789012:role/admin'],
    ] as const) {
      const sent = { copy_inputs: { [name]: value } };
      expect(refusal(sent, stored)).toBe(
        `'user', 'password', ${keys} must be sent again when 'copy_inputs.${name}' changes.`,
      );
      const again = { user: 'u', password: 'p', copy_inputs: { ...sent.copy_inputs, bucket_credentials: KEYS } };
      expect(checked(again, stored)).toMatchObject(sent);
    }
    expect(checked({ copy_inputs: { s3_key_prefix: 'p/' } }, stored)).toMatchObject({ user: 'u' });
    const byKeys = checked({ ...SERVER, mode: 'COPY', copy_inputs: INPUTS });
    expect(checked({ copy_inputs: { authorization: KEYS } }, byKeys)).toEqual(byKeys);
    const toRole = { user: 'u', password: 'p', copy_inputs: { bucket_credentials: KEYS, authorization: role } };
    expect(checked(toRole, byKeys)).toMatchObject({ copy_inputs: { authorization: role } });
  });

  test('shows no key of the bucket, nor of Redshift', () => {
    const config = checked({ ...SERVER, mode: 'COPY', copy_inputs: INPUTS });
    const { open } = splitSecrets(config, redshift.secrets);
    expect(JSON.stringify(open)).not.toMatch(/AKIATEST|secret-of-the-test|password/);
    expect(open['copy_inputs']).toMatchObject({ s3_bucket: 'exports', s3_key_prefix: '/' });
  });

  test('moves to another host with every one of its secrets only', () => {
    const stored = checked({ ...SERVER, mode: 'COPY', copy_inputs: INPUTS });
    const moved = { ...SERVER, host: 'other.example.org', copy_inputs: { bucket_credentials: KEYS } };
    expect(refusal(moved, stored)).toBe(
      "'copy_inputs.authorization.aws_access_key_id', 'copy_inputs.authorization.aws_secret_access_key' must be sent " +
        "again when 'host' changes.",
    );
    expect(checked({ ...moved, copy_inputs: INPUTS }, stored)).toMatchObject({ host: 'other.example.org' });
  });
});

describeOnPostgres('Redshift', () => {
  type Config = Parameters<typeof redshift.deliver>[0]['config'];
  type Changes = Partial<Delivery<Config>>;

  let database: PostgresDatabase;
  let bucket: Bucket;
  let proxy: RedshiftProxy;
  let schema: string;
  let said: string[];

  beforeAll(async () => {
    [database, bucket] = await Promise.all([newDatabase(), startBucket()]);
    await database.sql(REDSHIFT_WORDS);
    proxy = await startRedshiftProxy(database.config.port, bucket);
  });
  afterAll(async () => {
    await proxy.close();
    await Promise.all([database.close(), bucket.close()]);
  });
  beforeEach(async () => {
    schema = await database.newSchema();
    said = [];
  });

  const sql = (text: string) => database.sql(text);
  const here = redshiftVia((one) => ({ ...one, endpoint_url: bucket.url }));
  const COPY = { mode: 'COPY', copy_inputs: { ...INPUTS, s3_key_prefix: "/it's staged/" } };
  const given = (config: object = {}, changes: Changes = {}): Delivery<Config> =>
    delivery(here, { ...database.config, port: proxy.port, schema, ...config }, 0, {
      rows: () => eventRows(0, 1000),
      say: (_level, message) => said.push(message),
      ...changes,
    });
  const deliver = (config: object = {}, changes: Changes = {}) => send(here, given(config, changes));
  const counts = async (table = 'events') => {
    const [row] = await sql(`SELECT count(*) AS rows, count(DISTINCT uuid) AS uuids FROM ${table}`);
    return [Number(row?.['rows']), Number(row?.['uuids'])];
  };

  describe.each([
    ['INSERT', {}],
    ['COPY', COPY],
  ])('with %s', (mode, config) => {
    test.each([
      ['varchar', 'character varying(65535)', '{"n":3,"path":"/page/3\\\\","text":"tab\\tand\\nline"}'],
      ['super', 'super', '{"n": 3, "path": "/page/3\\\\", "text": "tab\\tand\\nline"}'],
    ])('events come with their values, JSON as %s', async (properties_data_type, type, properties) => {
      await deliver({ ...config, properties_data_type }, { rows: () => eventRows(3, 1) });
      expect(await sql('SELECT * FROM events')).toEqual([
        {
          uuid: '01890000-0000-7000-8000-000000000003',
          event: 'paid',
          properties,
          elements: null,
          set: type === 'super' ? '{"plan": "pro"}' : '{"plan":"pro"}',
          set_once: null,
          distinct_id: 'person-3',
          team_id: '1',
          ip: '10.0.0.1',
          site_url: '',
          timestamp: '2023-07-28 00:00:00.003+00',
          person_id: null,
          person_properties: null,
        },
      ]);
      const types = await sql(
        `SELECT attname AS name, replace(format_type(atttypid, atttypmod), 'public.', '') AS type FROM pg_attribute
          WHERE attrelid = 'events'::regclass AND attname IN ('properties', 'elements')`,
      );
      expect(types).toContainEqual({ name: 'properties', type });
      expect(types).toContainEqual({ name: 'elements', type: 'character varying(65535)' });
    });

    // VARCHAR(200) holds 200 bytes at Redshift, and capture takes 200 characters.
    test('names and addresses have columns as long as there are', async () => {
      await deliver(config, { rows: () => eventRows(3, 1) });
      const types = await sql(
        `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
          WHERE attrelid = 'events'::regclass AND attname IN ('event', 'distinct_id', 'ip') ORDER BY 1`,
      );
      const type = 'character varying(65535)';
      expect(types).toEqual([
        { name: 'distinct_id', type },
        { name: 'event', type },
        { name: 'ip', type },
      ]);
    });

    test('events are seen when they are committed, once for a run, and merged when another run has them', async () => {
      const one = given(config);
      const prepared = await here.deliver(one);
      expect(await counts()).toEqual([0, 0]);
      await here.commit(one, prepared);
      expect(prepared.receipt.bytes).toBeGreaterThan(1000);
      await deliver(config);
      expect(await counts()).toEqual([1000, 1000]);
      await deliver(config, { runId: OTHER_RUN, rows: () => eventRows(0, 1500) });
      expect(await counts()).toEqual([1500, 1500]);
      expect(said).toContain(
        'This interval was delivered before: of 1500 rows 500 were new, the others are in the table already.',
      );
      expect(await sql('SELECT run_id, records FROM batch_export_deliveries')).toEqual([
        { run_id: OTHER_RUN, records: '1500' },
      ]);
    });

    test('events of two exports of a project are merged, whether one comes after the other or both at once', async () => {
      const other = { exportId: OTHER_EXPORT, runId: OTHER_RUN };
      await Promise.all([deliver(config), deliver(config, { attempt: `${OTHER_EXPORT}-1`, ...other })]);
      expect(await counts()).toEqual([1000, 1000]);
      await deliver(config, { ...other, runId: RUN, rows: () => eventRows(500, 1000) });
      expect(await counts()).toEqual([1500, 1500]);
    });

    test('more rows than one statement takes come whole', async () => {
      await deliver(config, { rows: () => eventRows(0, 6000) });
      expect(await counts()).toEqual([6000, 6000]);
    });

    test('persons are merged by their versions', async () => {
      const persons = (rows: readonly PersonRow[]): Changes => ({ model: 'persons', rows: () => personRows(rows) });
      const at = (distinct_id: string, person_version: number, mapping_version: number, name: string) => ({
        distinct_id,
        person_version,
        mapping_version,
        name,
        is_deleted: name === 'moved',
      });
      await deliver(config, persons([at('a', 5, 5, 'Ada'), at('b', 5, 5, 'Ada'), at('c', 5, 5, 'Ada')]));
      const changes = [at('a', 4, 5, 'older'), at('b', 6, 5, 'newer'), at('c', 5, 6, 'moved'), at('d', 1, 1, 'new')];
      for (const runId of [OTHER_RUN, RUN]) await deliver(config, { ...persons(changes), runId });
      expect(
        await sql("SELECT distinct_id, properties::json->>'name' AS name, is_deleted FROM events ORDER BY 1"),
      ).toEqual([
        { distinct_id: 'a', name: 'Ada', is_deleted: 'f' },
        { distinct_id: 'b', name: 'newer', is_deleted: 'f' },
        { distinct_id: 'c', name: 'moved', is_deleted: 't' },
        { distinct_id: 'd', name: 'new', is_deleted: 'f' },
      ]);
    });

    test('two workers at once deliver once', async () => {
      await Promise.all([
        deliver(config),
        deliver(config, { attempt: 't-2', runId: OTHER_RUN }),
        deliver(config, { attempt: 't-3' }),
      ]);
      expect(await counts()).toEqual([1000, 1000]);
    });

    test('what is discarded, or cancelled on the way, leaves nothing', async () => {
      const one = given(config);
      await here.discard(one, await here.deliver(one));
      const cancel = new AbortController();
      async function* rows() {
        yield* eventRows(0, 5000);
        cancel.abort(new Error('cancelled'));
        yield* eventRows(5000, 5000);
      }
      await expect(here.deliver(given(config, { rows, signal: cancel.signal }))).rejects.toThrow('cancelled');
      expect(await counts()).toEqual([0, 0]);
      expect(await bucket.keys()).toEqual([]);
    });

    test('wherever the connection breaks, the next attempt makes it right', async () => {
      const story = async (ask: Parameters<typeof startPostgresProxy>[1], runId: string) => {
        schema = await database.newSchema();
        await deliver(config, { runId: '01890000-0000-5000-8000-000000000009', rows: () => eventRows(0, 20) });
        const broken = await startPostgresProxy(proxy.port, ask);
        const survived = await deliver({ ...config, port: broken.port }, { rows: () => eventRows(0, 50) }).then(
          () => true,
          (error: unknown) => {
            expect(error).toBeInstanceOf(Transient);
            return false;
          },
        );
        const [left] = await counts();
        await deliver(config, { runId, rows: () => eventRows(0, 50) });
        expect(await counts()).toEqual([50, 50]);
        await broken.close();
        return { survived, left, acts: broken.acts() };
      };
      const calm = await story(() => undefined, RUN);
      expect([calm.survived, calm.left]).toEqual([true, 50]);
      // What an attempt does until its rows wait, is the same for both; files are slow.
      const first = mode === 'COPY' ? calm.acts.indexOf('COPY') + 1 : 1;
      for (let at = first; at <= calm.acts.length; at += 1) {
        const told = await story((_act, n) => (n === at ? 'before' : undefined), at % 2 === 0 ? RUN : OTHER_RUN);
        expect([at, told.left]).toEqual([at, calm.acts.slice(0, at - 1).includes('COMMIT') ? 50 : 20]);
      }
      const lost = await story((act) => (act === 'COMMIT' ? 'after' : undefined), RUN);
      expect([lost.survived, lost.left]).toEqual([false, 50]);
      expect(await bucket.keys()).toEqual([]);
    });
  });

  test('a query comes as its columns, merged by its uuid under whatever name', async () => {
    const columns = () => [
      { name: 'Id"; --', type: 'text' as const, field: 'uuid' },
      { name: 'amount', type: 'float' as const, field: 'amount' },
      { name: 'tags', type: 'texts' as const, field: 'tags' },
      { name: 'ok', type: 'boolean' as const, field: 'ok' },
    ];
    const rows = (count: number) =>
      async function* () {
        for (let n = 0; n < count; n += 1) yield Buffer.from(`${n}\t1.5\t["a"]\tt\n`);
      };
    const config = { table_name: 'e"; DROP TABLE x; --', properties_data_type: 'super' };
    // Redshift's catalog has names in small letters; PostgreSQL's is left as it is made.
    await sql('CREATE TABLE "e""; drop table x; --" ("id""; --" text, amount float8, tags public.super, ok bool)');
    const lower = (all: readonly { name: string; type: 'text' | 'float' | 'texts' | 'boolean'; field: string }[]) =>
      all.map((column) => ({ ...column, name: column.name.toLowerCase() }));
    const changes = { columns: () => lower(columns()) };
    const named = { ...config, table_name: config.table_name.toLowerCase() };
    await deliver(named, { ...changes, rows: rows(2) });
    await deliver(named, { ...changes, rows: rows(3), runId: OTHER_RUN });
    expect(await sql('SELECT * FROM "e""; drop table x; --" ORDER BY 1')).toEqual(
      ['0', '1', '2'].map((id) => ({ 'id"; --': id, amount: '1.5', tags: '["a"]', ok: 't' })),
    );
  });

  test.each([
    [KEYS, "ACCESS_KEY_ID 'AKIATEST' SECRET_ACCESS_KEY 'secret-of-the-test'"],
    ['arn:aws:iam::123456789012:role/loader', "IAM_ROLE 'arn:aws:iam::123456789012:role/loader'"],
    ['default', 'IAM_ROLE default'],
  ])('COPY is written as Redshift wants it, with %j', async (authorization, access) => {
    const columns = () => [{ name: 'uuid', type: 'text' as const, field: 'uuid' }];
    async function* rows() {
      yield Buffer.from('a\n');
    }
    await deliver({ ...COPY, copy_inputs: { ...INPUTS, authorization } }, { columns, rows });
    expect(proxy.copies().at(-1)).toBe(
      `COPY batch_export_rows ("uuid") FROM 's3://exports/${given().attempt}/${new Date(INTERVAL.start).toISOString()}/manifest' ` +
        `${access} REGION 'us-east-1' MANIFEST GZIP DELIMITER '\\t' ESCAPE TIMEFORMAT 'auto' COMPUPDATE OFF STATUPDATE OFF`,
    );
  });

  test('a value that does not fit is told of as Redshift notes it', async () => {
    await deliver(COPY, { rows: () => eventRows(0, 1) });
    await sql('ALTER TABLE events ALTER COLUMN event TYPE varchar(2) USING left(event, 2)');
    const interval = { start: INTERVAL.end, end: INTERVAL.end + HOUR_MS };
    const failed = deliver(COPY, { interval, rows: () => eventRows(0, 2) });
    await expect(failed).rejects.toThrow(Permanent);
    await expect(failed).rejects.toThrow(
      'Redshift could not load row 2 of a file, column "event": String length exceeds DDL length.',
    );
    const tooLong = deliver({}, { interval, rows: () => eventRows(0, 2) });
    await expect(tooLong).rejects.toThrow('Make the column wider');
    expect(await bucket.keys()).toEqual([]);
  });

  test.each([
    ['1023', Transient],
    ['Disk Full', Transient],
    ['invalid value 1023', Permanent],
  ])('an internal error %s of Redshift is told from others by its words', async (message, kind) => {
    await deliver({}, { rows: () => eventRows(0, 1) });
    await sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = 'XX000'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON events EXECUTE FUNCTION refuse()`);
    const interval = { start: INTERVAL.end, end: INTERVAL.end + HOUR_MS };
    await expect(deliver({}, { interval })).rejects.toThrow(kind);
  });

  test('a bucket that is not there, or a wrong key, is for the customer to mend', async () => {
    const missing = deliver({ ...COPY, copy_inputs: { ...INPUTS, s3_bucket: 'nowhere' } });
    await expect(missing).rejects.toThrow(Permanent);
    await expect(missing).rejects.toThrow("There is no bucket 'nowhere'");
  });

  test('a connection check finds columns that the table lacks, and rights that a run will need', async () => {
    const result = (config: object = {}, trial: Parameters<typeof planned>[0] = {}) =>
      check(here, given(config), 3, trial);
    await deliver({}, { rows: () => eventRows(0, 1) });
    await result();
    await expect(result({}, { model: 'persons' })).rejects.toThrow('lacks the columns "person_distinct_id_version"');
    await result({ use_automatic_schema_evolution: true }, { model: 'persons' });
    await sql(`CREATE ROLE shifter LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA "${schema}" TO shifter;
      GRANT SELECT, INSERT ON events, batch_export_deliveries TO shifter`);
    const shifter = { user: 'shifter', password: 'p' };
    await expect(result(shifter)).rejects.toThrow('permission denied for table batch_export_deliveries');
    await sql('GRANT UPDATE ON batch_export_deliveries TO shifter');
    await result(shifter);
    await deliver({ table_name: 'people' }, { model: 'persons', rows: () => personRows([]) });
    await sql('GRANT SELECT, INSERT ON people TO shifter');
    await expect(result({ ...shifter, table_name: 'people' }, { model: 'persons' })).rejects.toThrow(
      'permission denied for table people',
    );
    expect(await counts()).toEqual([1, 1]);
  });

  test('a connection check goes through the bucket only for COPY, and leaves nothing', async () => {
    const steps = here.steps;
    expect(steps.map(({ name }) => name)).toEqual([
      'Reach the server',
      'Log in',
      'Find database and schema',
      'Write into the table',
      'Copy through the bucket',
    ]);
    const one = given(COPY);
    for (const [n, step] of steps.entries()) {
      expect(step.skipped?.(one.config)).toBeUndefined();
      await check(here, one, n);
    }
    expect(steps.at(-1)?.skipped?.(given().config)).toContain('only COPY needs a bucket');
    expect(await bucket.keys()).toEqual([]);
    expect(await sql(`SELECT relname FROM pg_class WHERE relnamespace = '"${schema}"'::regnamespace`)).toEqual([]);
  });
});
