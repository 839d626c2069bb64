/** What a customer is told when a PostgreSQL is not as an export needs it, before it is made and when it runs. */
import { type AddressInfo, createServer, type Server } from 'node:net';
import { assert, property, string } from 'fast-check';
import { HOUR_MS } from '../../../../lib/basics/units.ts';
import { checkedConfig } from '../../../../lib/exports/destinations/config.ts';
import { openSession } from '../../../../lib/exports/destinations/databases/session.ts';
import { qualified, quoted } from '../../../../lib/exports/destinations/databases/sql-identifier.ts';
import type { Delivery } from '../../../../lib/exports/destinations/destination.ts';
import { postgres } from '../../../../lib/exports/destinations/postgres.ts';
import { Failure, Permanent, Transient } from '../../../../lib/ports/errors.ts';
import { openOutbound } from '../../../../lib/ports/outbound/outbound.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import type { Column } from '../../../../lib/warehouse/columns.ts';
import { copyRows, eventRows, personRows } from '../../../support/copy-rows.ts';
import { check, delivery, failureOf, OTHER_RUN, type planned, RUN, send } from '../../../support/delivery.ts';
import { describeOnPostgres, newDatabase, type PostgresDatabase } from '../../../support/postgres.ts';
import { startTlsProxy, type TlsProxy } from '../../../support/tls-proxy.ts';

jest.setTimeout(30_000);

type Config = Parameters<typeof postgres.deliver>[0]['config'];

const CONFIG = { user: 'u', password: 'p', host: 'db.example.org', database: 'd' };

describe('a config', () => {
  const checked = (sent: object, stored?: object, settings = LOCAL_SETTINGS) =>
    checkedConfig(postgres, { ...sent }, stored && { ...stored }, { model: 'events' }, settings);
  const refusal = (sent: object, stored?: object, settings = LOCAL_SETTINGS): unknown => {
    try {
      return checked(sent, stored, settings);
    } catch (error) {
      return error instanceof Failure ? [error.body.attr, error.message] : error;
    }
  };

  test('has defaults for all but the server and the account', () => {
    expect(checked({ ...CONFIG, port: '5433' })).toEqual({
      ...CONFIG,
      port: 5433,
      schema: 'public',
      table_name: 'events',
      has_self_signed_cert: false,
      use_automatic_schema_evolution: false,
    });
  });

  test.each([
    [{ hello: 1 }, 'destination__non_field_errors', "Configuration has unknown field/s: 'hello'"],
    [{ port: 'x' }, 'destination__non_field_errors', "Configuration has invalid type: got 'str', expected 'int'"],
    [{ port: 0 }, 'destination', 'port must be a number from 1 to 65535.'],
    [{ schema: ' ', user: '' }, 'destination', "The following inputs are empty: ['user', 'schema']"],
    [{ table_name: 'a\0' }, 'destination', 'table_name is not valid Unicode text without NUL.'],
    [{ table_name: 'ä'.repeat(32) }, 'destination', 'table_name is too long: a name may have 63 bytes.'],
    [
      { table_name: 'Batch_Export_Deliveries' },
      'destination',
      "table_name may not be 'batch_export_deliveries': deliveries are noted in that table.",
    ],
    [
      { host: 'https://db.example.org' },
      'destination',
      "'https://db.example.org' is not a valid host: it must be a name such as db.example.com, or an address.",
    ],
  ])('%j is refused', (sent, attr, detail) => {
    expect(refusal({ ...CONFIG, ...sent })).toEqual([attr, detail]);
  });

  test('without a password is refused, but a change may leave it out as long as the server stays', () => {
    const { password: _password, ...open } = CONFIG;
    expect(refusal(open)).toEqual([
      'destination__non_field_errors',
      "Configuration missing required field: 'password'",
    ]);
    expect(checked({ table_name: 'other' }, { ...CONFIG, port: 5432 })).toMatchObject({
      password: 'p',
      table_name: 'other',
    });
    expect(refusal({ host: 'elsewhere.example.org' }, { ...CONFIG, port: 5432 })).toEqual([
      'destination',
      "'user', 'password' must be sent again when 'host' changes.",
    ]);
  });

  test.each(['10.0.0.1', 'localhost', '169.254.169.254', '0x7f000001', 'db.internal'])(
    'may not name %s where only public addresses are allowed',
    (host) => {
      const settings = { ...LOCAL_SETTINGS, privateAddresses: false };
      expect(refusal({ ...CONFIG, host }, undefined, settings)).toEqual([
        'destination',
        expect.stringContaining('not'),
      ]);
    },
  );
});

test('a name in quotes is one name, whatever it is', () => {
  assert(
    property(string(), string(), (schema, table) => {
      const written = qualified(schema, table);
      // As PostgreSQL reads it: a quote ends the name unless another one follows.
      const names = [...written.matchAll(/"((?:[^"]|"")*)"/gu)].map(([, name = '']) => name.replaceAll('""', '"'));
      expect(names).toEqual([schema, table]);
      expect(written.replaceAll(/"(?:[^"]|"")*"/gu, 'N')).toBe('N.N');
    }),
  );
});

describeOnPostgres('Postgres', () => {
  let database: PostgresDatabase;
  let schema: string;
  const doors: Server[] = [];

  beforeAll(async () => {
    database = await newDatabase();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    schema = await database.newSchema();
  });
  afterEach(() => {
    for (const door of doors.splice(0)) door.close();
  });

  const sql = (text: string) => database.sql(text);
  const configOf = (config: object): Config =>
    postgres.config.parse({ ...database.config, schema, ...config }) as Config;
  const given = (config: object = {}, changes: Partial<Delivery<Config>> = {}): Delivery<Config> =>
    delivery(postgres, configOf(config), 0, { rows: () => eventRows(0, 10), ...changes });
  const failure = async (config: object = {}, changes: Partial<Delivery<Config>> = {}): Promise<Error> => {
    const one = given(config, changes);
    return postgres.deliver(one).then(
      async (prepared) => {
        await postgres.discard(one, prepared);
        throw new Error('nothing failed');
      },
      (error: unknown) => error as Error,
    );
  };
  const place = () => `${database.config.host}:${database.config.port}`;
  /** A user who may do just what the statements grant. */
  const roleWith = async (name: string, grants: string): Promise<object> => {
    await sql(`CREATE ROLE "${name}" LOGIN PASSWORD 'p'; ${grants}`);
    return { user: name, password: 'p' };
  };
  /** A server of our own on some port. */
  const door = async (answer: Parameters<typeof createServer>[1]): Promise<number> => {
    const made = createServer(answer);
    doors.push(made);
    await new Promise<void>((done) => made.listen(0, '127.0.0.1', done));
    return (made.address() as AddressInfo).port;
  };

  describe('a connection check', () => {
    const passed = async (config: object = {}, trial: Parameters<typeof planned>[0] = {}) => {
      const results: (string | undefined)[] = [];
      for (const n of postgres.steps.keys()) {
        const error = (await failureOf(check(postgres, given(config), n, trial))) as Error | undefined;
        results.push(error?.message);
        if (error !== undefined) {
          expect(error).toBeInstanceOf(Permanent);
          break;
        }
      }
      return results;
    };

    test('passes all its steps where everything is right, and leaves nothing', async () => {
      expect(postgres.steps.map(({ name }) => name)).toEqual([
        'Reach the server',
        'Log in',
        'Find database and schema',
        'Write into the table',
      ]);
      expect(await passed()).toEqual([undefined, undefined, undefined, undefined]);
      expect(await sql(`SELECT relname FROM pg_class WHERE relnamespace = '"${schema}"'::regnamespace`)).toEqual([]);
    });

    test('passes over a table that is there, with columns of its own', async () => {
      const made = given();
      await postgres.discard(made, await postgres.deliver(made));
      await sql('ALTER TABLE events ADD mine int NOT NULL');
      expect(await passed()).toEqual([undefined, undefined, undefined, undefined]);
      await sql('ALTER TABLE events ADD id bigint GENERATED ALWAYS AS IDENTITY');
      await sql('ALTER TABLE events ADD short text GENERATED ALWAYS AS (left(uuid, 8)) STORED');
      expect(await passed()).toEqual([undefined, undefined, undefined, undefined]);
    });

    test('stops when a server answers without an end: its rows are held', async () => {
      const said = (letter: string, body: Buffer): Buffer => {
        const head = Buffer.alloc(5, letter);
        head.writeInt32BE(body.length + 4, 1);
        return Buffer.concat([head, body]);
      };
      const loggedIn = Buffer.concat([said('R', Buffer.alloc(4)), said('Z', Buffer.from('I'))]);
      const columns = said('T', Buffer.concat([Buffer.from('\0\u0001a\0'), Buffer.alloc(18)]));
      const row = said('D', Buffer.concat([Buffer.from([0, 1, 0, 0x0f, 0x42, 0x40]), Buffer.alloc(1_000_000, 'x')]));
      let sent = 0;
      const port = await door((socket) => {
        const answers = [Buffer.from('N'), loggedIn, columns];
        const goOn = (): void => {
          for (let room = true; room && sent < 100; sent += 1) room = socket.write(row);
          if (sent < 100) socket.once('drain', goOn);
        };
        socket
          .on('error', () => {})
          .on('data', () => {
            const next = answers.shift();
            if (next !== undefined) socket.write(next);
            if (next === columns) goOn();
          });
      });
      const session = openSession(
        { ...configOf({ host: '127.0.0.1', port }), has_self_signed_cert: false },
        { outbound: openOutbound(LOCAL_SETTINGS), reach: LOCAL_SETTINGS, signal: AbortSignal.timeout(20_000) },
      );
      const error: unknown = await (await session).query('SELECT 1').catch((thrown: unknown) => thrown);
      expect(error).toEqual(
        new Permanent(
          `The server at 127.0.0.1:${port} answers more than PostgreSQL ever does here. Correct host and port.`,
        ),
      );
      expect(sent).toBeLessThan(50);
    });

    test('stops at the step that fails, and says what to do', async () => {
      const { host } = database.config;
      const silent = await door((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
      expect(await passed({ port: silent })).toEqual([
        `The server at ${host}:${silent} does not speak PostgreSQL's protocol. Correct host and port.`,
      ]);
      expect(await passed({ password: 'wrong' })).toEqual([undefined, expect.stringContaining('refused the user')]);
      expect(await passed({ database: 'nowhere' })).toEqual([
        undefined,
        undefined,
        `There is no database 'nowhere' at ${place()}. Create it, or correct database.`,
      ]);
      expect(await passed({ schema: 'no"where' })).toEqual([
        undefined,
        undefined,
        `There is no schema "no""where" in database '${database.config.database}'. Create it (CREATE SCHEMA "no""where"), or correct schema.`,
      ]);
    });

    test('finds which rights are missing', async () => {
      expect(await passed(await roleWith('blind', ''))).toEqual([
        undefined,
        undefined,
        expect.stringContaining(`GRANT USAGE, CREATE ON SCHEMA "${schema}"`),
      ]);
      expect(await passed(await roleWith('reader', `GRANT USAGE ON SCHEMA "${schema}" TO reader`))).toEqual([
        undefined,
        undefined,
        undefined,
        expect.stringContaining(`permission denied for schema ${schema}`),
      ]);
      const made = given();
      await postgres.discard(made, await postgres.deliver(made));
      await sql('DROP TABLE batch_export_deliveries');
      expect(await passed(await roleWith('maker', `GRANT USAGE, CREATE ON SCHEMA "${schema}" TO maker`))).toEqual([
        undefined,
        undefined,
        undefined,
        expect.stringContaining('permission denied for table events'),
      ]);
    });
  });

  describe('a connection check finds what a run would fail for, today or later:', () => {
    const result = async (config: object = {}, trial: Parameters<typeof planned>[0] = {}): Promise<string> => {
      const last = postgres.steps.length - 1;
      return (await check(postgres, given(config), last, trial).catch((error: Error) => error.message)) ?? 'passed';
    };
    const persons = { model: 'persons' } as const;
    /** Makes the tables of a model, as a delivery does. */
    const made = async (model: 'events' | 'persons' = 'events'): Promise<void> => {
      const one = given({}, { model, rows: () => copyRows(model, 0) });
      await postgres.discard(one, await postgres.deliver(one));
    };
    const ROLE = `GRANT USAGE ON SCHEMA "SCHEMA" TO "ROLE"; GRANT SELECT, INSERT ON events TO "ROLE";`;
    const LEDGER_TOO = ' GRANT SELECT, INSERT, UPDATE ON batch_export_deliveries TO "ROLE";';
    const role = (name: string, grants: string) =>
      roleWith(name, grants.replaceAll('SCHEMA "SCHEMA"', `SCHEMA "${schema}"`).replaceAll('ROLE', name));

    test('columns that the table lacks, as one that PostHog has made does', async () => {
      await sql(`CREATE TABLE events (uuid varchar(200), event varchar(200), properties jsonb, elements jsonb, set jsonb,
        set_once jsonb, distinct_id varchar(200), team_id integer, ip varchar(200), site_url varchar(200),
        timestamp timestamptz)`);
      expect(await result()).toMatch(/lacks the columns "person_id", "person_properties"/);
      expect(await result({ use_automatic_schema_evolution: true })).toBe('passed');
      expect(await result({ use_automatic_schema_evolution: true })).toBe('passed');
      expect(await result()).toMatch(/lacks the columns/);
    });

    test('columns of the export’s own query', async () => {
      await made();
      const columns = (): readonly Column[] => [{ name: 'amount', type: 'float', field: 'amount' }];
      expect(await result({}, { columns })).toContain('ADD COLUMN "amount" DOUBLE PRECISION');
      expect(await result({}, { columns: () => [{ name: 'xmin', type: 'text', field: 'event' }] })).toContain('alias');
    });

    test('the key of a table of persons', async () => {
      expect(await result({}, persons)).toBe('passed');
      await made('persons');
      expect(await result({}, persons)).toBe('passed');
      await sql('ALTER TABLE events DROP CONSTRAINT events_pkey');
      expect(await result({}, persons)).toContain('"events" ADD PRIMARY KEY ("team_id", "distinct_id")');
    });

    test('the right to change the ledger', async () => {
      await made();
      const user = await role('noter', `${ROLE} GRANT SELECT, INSERT ON batch_export_deliveries TO "ROLE"`);
      expect(await result(user)).toContain('permission denied for table batch_export_deliveries');
      await sql('GRANT UPDATE ON batch_export_deliveries TO noter');
      expect(await result(user)).toBe('passed');
    });

    test('the right to make temporary tables, which only the second delivery of an interval needs', async () => {
      await made();
      const user = await role('brief', ROLE + LEDGER_TOO);
      expect(await result(user)).toBe('passed');
      await sql(`REVOKE TEMPORARY ON DATABASE "${database.config.database}" FROM PUBLIC`);
      try {
        expect(await result(user)).toContain('permission denied to create temporary tables');
      } finally {
        await sql(`GRANT TEMPORARY ON DATABASE "${database.config.database}" TO PUBLIC`);
      }
    });

    test('the right to change persons, without any on a ledger, which they do not need', async () => {
      await made('persons');
      const user = await role('editor', ROLE);
      expect(await result(user, persons)).toContain('permission denied for table events');
      await sql('GRANT UPDATE ON events TO editor');
      expect(await result(user, persons)).toBe('passed');
    });
  });

  describe('a name', () => {
    const NASTY = `e"; DROP TABLE "kept"; --`;

    test.each([NASTY, `'; DROP TABLE kept; --`, 'Events', 'select', '$1', 'ünï cödé ☃', '{"a":1}'])(
      '%s of a table is just a name',
      async (table_name) => {
        await sql('CREATE TABLE kept ()');
        const one = given({ table_name });
        await send(postgres, one);
        expect(await sql(`SELECT count(*) FROM ${quoted(table_name)}`)).toEqual([{ count: '10' }]);
        expect(await sql('SELECT table_name, records FROM batch_export_deliveries')).toEqual([
          { table_name, records: '10' },
        ]);
        await sql('SELECT * FROM kept');
        await sql('DROP TABLE kept');
      },
    );

    test('of a schema and of a database is just a name', async () => {
      await sql(`CREATE SCHEMA ${quoted(NASTY)}`);
      await sql(`CREATE DATABASE ${quoted(NASTY)}`);
      await send(postgres, given({ schema: NASTY }));
      expect(await sql(`SELECT count(*) FROM ${qualified(NASTY, 'events')}`)).toEqual([{ count: '10' }]);
      await send(postgres, given({ schema: 'public', database: NASTY }));
    });
  });

  describe('a table', () => {
    test('that lacks columns fails the run, with the statements that would add them', async () => {
      await sql('CREATE TABLE events (uuid text, event text, properties jsonb)');
      const error = await failure();
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain('lacks the columns "elements", "set"');
      expect(error.message).toContain(`ALTER TABLE "${schema}"."events" ADD COLUMN "timestamp" TIMESTAMPTZ`);
      expect(error.message).toContain('use_automatic_schema_evolution');
      await sql(error.message.slice(error.message.indexOf('(') + 1, error.message.lastIndexOf(')')));
      await send(postgres, given());
    });

    test.each([
      ['xmin', /"xmin".*PostgreSQL/],
      [`${'ä'.repeat(31)}bc`, /64 bytes.*63/],
    ])('cannot have a column of the name %s, which its query is to give another name', async (name, message) => {
      const columns = (): readonly Column[] => [{ name, type: 'text', field: 'event' }];
      const error = await failure({}, { columns });
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toMatch(message);
      expect(error.message).toContain('alias');
    });

    test('may have columns of any other name', async () => {
      const names = ['XMIN', 'select', 'a "b"; drop', '%s', 'ä'.repeat(31)];
      const columns = (): readonly Column[] => names.map((name) => ({ name, type: 'text', field: 'event' }));
      const rows = async function* () {
        yield Buffer.from('1\t2\t3\t4\t5\n');
      };
      for (const runId of [RUN, RUN, OTHER_RUN]) {
        await send(postgres, given({}, { columns, rows, runId }));
      }
      expect(await sql('SELECT * FROM events')).toEqual([
        Object.fromEntries(names.map((name, n) => [name, String(n + 1)])),
      ]);
    });

    test('is given the columns that it lacks where the config says so, and keeps its own', async () => {
      await sql("CREATE TABLE events (mine int DEFAULT 7, uuid text); INSERT INTO events VALUES (1, 'old')");
      await send(postgres, given({ use_automatic_schema_evolution: true }));
      expect(await sql("SELECT mine, event FROM events WHERE uuid = 'old'")).toEqual([{ mine: '1', event: null }]);
      expect(await sql("SELECT DISTINCT mine FROM events WHERE uuid <> 'old'")).toEqual([{ mine: '7' }]);
    });

    test('that lacks columns and is not the user’s own says what its owner is to do', async () => {
      await sql('CREATE TABLE events (uuid text)');
      const grants = `GRANT USAGE, CREATE ON SCHEMA "${schema}" TO guest; GRANT ALL ON events TO guest`;
      const guest = await roleWith('guest', grants);
      const error = await failure({ ...guest, use_automatic_schema_evolution: true });
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain(`ALTER TABLE "${schema}"."events" ADD COLUMN "event" VARCHAR(200)`);
      expect(error.message).toContain('only the owner of the table may');
    });

    test('that others read is not held up for long by the columns that it is given', async () => {
      await sql(`
        CREATE TABLE events (uuid text); CREATE TABLE waits (longest text);
        CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO "${schema}".waits VALUES (current_setting('lock_timeout')); END $$;
        CREATE EVENT TRIGGER note ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION note()`);
      await send(postgres, given({ use_automatic_schema_evolution: true }));
      await sql('DROP EVENT TRIGGER note');
      expect(await sql('SELECT DISTINCT longest FROM waits')).toEqual([{ longest: '30s' }]);
    });

    test('whose column takes no such value says which column and row', async () => {
      await send(postgres, given());
      await sql(
        'TRUNCATE events; DELETE FROM batch_export_deliveries; ALTER TABLE events ALTER COLUMN event TYPE varchar(5)',
      );
      const long = await failure();
      expect(long).toBeInstanceOf(Permanent);
      expect(long.message).toBe(
        `A value is too long for column "event" of "${schema}"."events" (row 2 of the interval): value too long for ` +
          `type character varying(5). Make it wider: ALTER TABLE "${schema}"."events" ALTER COLUMN "event" TYPE TEXT ` +
          '(Redshift: VARCHAR(65535)).',
      );
      await sql('ALTER TABLE events DROP COLUMN event, ADD COLUMN event int');
      const misfit = await failure();
      expect(misfit).toBeInstanceOf(Permanent);
      expect(misfit.message).toMatch(/^A value does not fit column "event" of .* \(row 1 of the interval\)/);
    });

    test('whose key cannot hold a value says so, and what it holds', async () => {
      const distinct_id = Array.from({ length: 200 }, () => crypto.randomUUID()).join('');
      const rows = () => personRows([{ distinct_id, person_version: 1, mapping_version: 1 }]);
      const error = await failure({}, { model: 'persons', rows });
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toMatch(/too large for an index of "customer \d+"."events".*distinct_ids of 2,700 bytes/);
    });

    test('with rules that a row breaks says which', async () => {
      const one = given();
      await send(postgres, one);
      await sql(`ALTER TABLE events ADD CONSTRAINT "only new" CHECK (event <> 'paid') NOT VALID`);
      const interval = { start: one.interval.end, end: one.interval.end + HOUR_MS };
      const error = await failure({}, { interval });
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain('Remove the rule "only new"');
    });

    test('that makes the values of a column by itself says which is to be a plain one', async () => {
      const one = given();
      await send(postgres, one);
      await sql(`ALTER TABLE events DROP COLUMN distinct_id,
        ADD COLUMN distinct_id text GENERATED ALWAYS AS ('x') STORED`);
      const text =
        `"${schema}"."events" does not take a column of the export: column "distinct_id" is a generated column. ` +
        'Make it a plain column of the table.';
      const next = { start: one.interval.end, end: one.interval.end + HOUR_MS };
      expect(await failure({}, { interval: next })).toEqual(new Permanent(text));
      // The same interval again is merged, by an INSERT.
      const merged = await failure({}, { runId: OTHER_RUN, rows: () => eventRows(10, 10) });
      expect(merged).toBeInstanceOf(Permanent);
      expect(merged.message).toMatch(/does not take a column of the export: .*"distinct_id".*Make it a plain column/);
    });

    test.each([true, false])('that is a view without the columns is not to be given them (%s)', async (isEvolving) => {
      await sql('CREATE VIEW events AS SELECT 1 AS uuid');
      const error = await failure({ use_automatic_schema_evolution: isEvolving });
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain('"events" is a view, and lacks the columns "event", "properties"');
      expect(error.message).toContain('Name a table, or a name that is free, in table_name.');
      expect(error.message).not.toContain('ADD COLUMN');
    });

    test('that is a view which takes no rows says so', async () => {
      await sql('CREATE VIEW events AS SELECT 1 AS one');
      const error = await failure({ use_automatic_schema_evolution: true });
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain('Name a table');
    });
  });

  describe('a server', () => {
    test('that is not there is tried again later', async () => {
      const error = await failure({ port: 1 });
      expect(error).toBeInstanceOf(Transient);
      expect(error.message).toMatch(/^Could not reach 127\.0\.0\.1:1: .*ECONNREFUSED/);
    });

    test('that closes the connection at once is tried again later', async () => {
      const port = await door((socket) => socket.on('error', () => {}).destroy());
      expect(await failure({ port })).toBeInstanceOf(Transient);
    });

    test('that refuses the user is for the customer to mend, and the user stays secret', async () => {
      const error = await failure({ password: 'wrong' });
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain(`The server at ${place()} refused the user`);
      expect(error.message).not.toContain('owner');
    });

    test('without the schema, or without the rights, says what to create or to grant', async () => {
      const missing = await failure({ schema: 'nowhere' });
      expect(missing).toBeInstanceOf(Permanent);
      expect(missing.message).toContain('CREATE SCHEMA "nowhere"');
      const refused = await failure(await roleWith('stranger', `GRANT USAGE ON SCHEMA "${schema}" TO stranger`));
      expect(refused).toBeInstanceOf(Permanent);
      expect(refused.message).toContain('SELECT, INSERT and UPDATE on');
    });

    // An address leads to a standby also between a failover and its next change, which needs no customer.
    test('that only reads is tried again later, and says whose address is wanted', async () => {
      const reader = await roleWith(
        'standby',
        `ALTER ROLE standby SET default_transaction_read_only = on;
        GRANT USAGE, CREATE ON SCHEMA "${schema}" TO standby`,
      );
      const error = await failure(reader);
      expect(error).toBeInstanceOf(Transient);
      expect(error.message).toContain('Use the address of the primary server');
    });

    /** Delivers an interval, and returns what the next one fails of where a trigger answers so. */
    const refusedNext = async (code: string, message: string) => {
      const first = given();
      await send(postgres, first);
      await sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '${code}'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON events EXECUTE FUNCTION refuse()`);
      const interval = { start: first.interval.end, end: first.interval.end + HOUR_MS };
      return failure({}, { interval });
    };

    test('that has become a standby is tried again later, and says whose address is wanted', async () => {
      // So a standby answers to BEGIN READ WRITE, where the tables are there.
      const message = 'cannot set transaction read-write mode during recovery';
      const error = await refusedNext('0A000', message);
      expect(error).toBeInstanceOf(Transient);
      expect(error.message).toBe(
        `The server at ${place()} only reads: ${message}. Use the address of the primary server.`,
      );
    });

    // A trigger answers what a full disk, a conflict or an operator would.
    test.each([
      ['53100', 'could not extend file: No space left on device', Transient],
      ['53300', 'too many connections', Transient],
      ['40001', 'could not serialize access', Transient],
      ['40P01', 'deadlock detected', Transient],
      ['57P01', 'terminating connection due to administrator command', Transient],
      ['P0001', 'events are not welcome here', Permanent],
      ['0A000', 'foreign tables take no rows', Permanent],
    ])('that answers %s (%s) is told of with its own words', async (code, message, kind) => {
      const error = await refusedNext(code, message);
      expect(error).toBeInstanceOf(kind);
      expect(error.message).toContain(`The server at ${place()} answered: ${message} (${code})`);
      expect(await sql('SELECT count(*) FROM events')).toEqual([{ count: '10' }]);
    });

    test('whose pooler has no connection left is tried again later', async () => {
      const words = 'max clients reached in session mode';
      const fields = Buffer.from(`SFATAL\0CXX000\0M${words}\0\0`);
      const head = Buffer.from([0x45, 0, 0, 0, fields.length + 4]);
      const pooler = await door((socket) => {
        // It has no TLS, and then answers the log-in.
        socket.once('data', () => {
          socket.write('N');
          socket.once('data', () => socket.end(Buffer.concat([head, fields])));
        });
        socket.on('error', () => {});
      });
      const error = await failure({ port: pooler });
      expect(error).toBeInstanceOf(Transient);
      expect(error.message).toBe(`The server at 127.0.0.1:${pooler} answered: ${words} (XX000).`);
    });

    test('that dies on the way is tried again later, whether rows are on their way or the commit is', async () => {
      const end = () =>
        sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = 'batch export' AND datname = current_database()`);
      async function* rows() {
        yield* eventRows(0, 1000);
        // By the time of the next rows the client has heard of it.
        while ((await end()).length > 0) await sql('SELECT pg_sleep(0.01)');
        yield* eventRows(1000, 100_000);
      }
      expect(await failure({}, { rows })).toBeInstanceOf(Transient);
      const one = given();
      const prepared = await postgres.deliver(one);
      await end();
      await expect(postgres.commit(one, prepared)).rejects.toThrow(Transient);
      // The next attempt finds nothing of either.
      await postgres.commit(given(), { receipt: prepared.receipt });
      expect(await sql('SELECT count(*) FROM events')).toEqual([{ count: '10' }]);
    });

    test('at an address that is not public is never spoken to where only those are allowed', async () => {
      const outbound = openOutbound({ privateAddresses: false });
      const error = await failure(
        {},
        { outbound, reach: { privateAddresses: false, folderRoots: undefined, dataDirectory: null } },
      );
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain("Address '127.0.0.1' is not public");
    });

    test('without TLS is not given the password unless it is in the deployment’s own network', async () => {
      const error = await failure(
        {},
        { reach: { privateAddresses: false, folderRoots: undefined, dataDirectory: null } },
      );
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain(`The server at ${place()} does not offer TLS`);
    });
  });

  describe('a certificate', () => {
    let port: number;
    let front: TlsProxy;

    beforeEach(async () => {
      front = await startTlsProxy(database.config);
      port = front.port;
    });
    afterEach(() => front.close());

    test('that nobody signed is refused, unless the config says that it is the server’s own', async () => {
      const error = await failure({ port });
      expect(error).toBeInstanceOf(Permanent);
      expect(error.message).toContain('set has_self_signed_cert to true');
      await send(postgres, given({ port, has_self_signed_cert: true }));
      expect(await sql('SELECT count(*) FROM events')).toEqual([{ count: '10' }]);
    });
  });
});
