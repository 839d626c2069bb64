/**
 * A delivery ends at every word that it says to the server: its connection breaks there, and where it matters most its
 * process is killed. The next attempt must make it right.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Delivery } from '../../../../lib/exports/destinations/destination.ts';
import { postgres } from '../../../../lib/exports/destinations/postgres.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { personRows } from '../../../support/copy-rows.ts';
import { delivery, OTHER_RUN, RUN, send } from '../../../support/delivery.ts';
import { describeOnPostgres, newDatabase, type PostgresDatabase } from '../../../support/postgres.ts';
import { startPostgresProxy } from '../../../support/postgres-proxy.ts';

type Config = Parameters<typeof postgres.deliver>[0]['config'];
type Changes = Partial<Delivery<Config>>;

const LATER_RUN = '01890000-0000-5000-8000-000000000004';
/** More than one piece of the connection's, so that a kill may come when some of them have arrived. */
const ROWS = 500;

const SENDER = join(import.meta.dirname, '..', '..', '..', 'support', 'delivery-program.ts');
/** Compiled once, the sender starts in half the time. */
const CACHE = temporaryFolder();

describeOnPostgres('Postgres', () => {
  let database: PostgresDatabase;

  beforeAll(async () => {
    database = await newDatabase();
  });
  afterAll(() => database.close());

  const sql = (text: string) => database.sql(text);

  const attempt = async (schema: string, receiptFile: string, count: number, changes: Changes = {}) =>
    send(postgres, delivery(postgres, { ...database.config, schema }, count, changes), receiptFile);

  /** Everything that a customer could see, but for what tells one attempt from another. */
  const seen = async () => ({
    rows: (await sql('SELECT events::text AS line FROM events ORDER BY 1')).map(({ line }) => line),
    deliveries: (await sql("SELECT to_regclass('batch_export_deliveries') AS name"))[0]?.['name']
      ? await sql('SELECT table_name, interval_start, interval_end, records FROM batch_export_deliveries')
      : [],
  });

  /** A delivery that may end at any word. */
  interface Mortal {
    readonly ask: Parameters<typeof startPostgresProxy>[1];
    /** In a process of its own, which is killed; else the connection breaks. */
    readonly killed?: boolean;
  }

  /** What a delivery said, and whether it came to its end. */
  async function mortal(
    schema: string,
    receiptFile: string,
    model: 'events' | 'persons',
    { ask, killed = false }: Mortal,
  ): Promise<{ acts: string[]; survived: boolean }> {
    const proxy = await startPostgresProxy(database.config.port, ask, () => child?.kill('SIGKILL'));
    const config = { ...database.config, schema, port: proxy.port };
    const changes = { model, runId: RUN };
    const words = ['Postgres', JSON.stringify(config), String(ROWS), receiptFile, JSON.stringify(changes)];
    const env = { ...process.env, NODE_COMPILE_CACHE: CACHE };
    const child = killed ? spawn(process.execPath, [SENDER, ...words], { stdio: 'ignore', env }) : undefined;
    const survived =
      child === undefined
        ? await send(postgres, delivery(postgres, config, ROWS, changes), receiptFile).then(
            () => true,
            () => false,
          )
        : (await once(child, 'exit'))[0] === 0;
    await proxy.close();
    return { acts: proxy.acts(), survived };
  }

  const quiet = async (): Promise<void> => {
    const one = `SELECT 1 FROM pg_stat_activity
      WHERE application_name = 'batch export' AND datname = current_database()`;
    while ((await sql(one)).length > 0) await sql('SELECT pg_sleep(0.005)');
  };

  test.each([
    {
      what: 'events of an interval that nobody has delivered',
      model: 'events' as const,
      before: async () => {},
      acts: ['CREATE', 'BEGIN', 'INSERT', 'COPY', 'first rows', 'UPDATE', 'COMMIT', 'goodbye'],
    },
    {
      what: 'events of an interval of which an earlier run delivered some',
      model: 'events' as const,
      before: async (schema: string) => {
        await attempt(schema, join(temporaryFolder(), 'r'), ROWS / 2, { runId: OTHER_RUN });
      },
      acts: ['BEGIN', 'INSERT', 'CREATE', 'COPY', 'first rows', 'INSERT', 'UPDATE', 'COMMIT', 'goodbye'],
    },
    {
      what: 'persons, some of which are there in an older or a newer version',
      model: 'persons' as const,
      before: async (schema: string) => {
        const rows = () =>
          personRows([
            { distinct_id: 'person-1', person_version: 1, mapping_version: 1, name: 'older' },
            { distinct_id: 'person-2', person_version: 3, mapping_version: 2, name: 'newer' },
            { distinct_id: 'person-x', person_version: 1, mapping_version: 1, name: 'other' },
          ]);
        await attempt(schema, join(temporaryFolder(), 'r'), 0, { model: 'persons', runId: OTHER_RUN, rows });
      },
      acts: ['BEGIN', 'CREATE', 'COPY', 'first rows', 'INSERT', 'COMMIT', 'goodbye'],
    },
  ])(
    '$what are there once and whole, wherever a delivery ends on the way',
    async ({ model, before, acts: expectedActs }) => {
      const story = async (how: Mortal, next: 'same' | 'other') => {
        const schema = await database.newSchema();
        const receiptFile = join(temporaryFolder(), 'receipt.json');
        await before(schema);
        const told = await mortal(schema, receiptFile, model, how);
        await quiet();
        const table = (await sql("SELECT to_regclass('events') AS name"))[0]?.['name'];
        const left = table ? await seen() : { rows: [], deliveries: [] };
        // A later run knows nothing of the first one's receipt.
        if (next === 'other') rmSync(receiptFile, { force: true });
        await attempt(schema, receiptFile, ROWS, { model, runId: next === 'same' ? RUN : LATER_RUN });
        return { ...told, left, end: await seen() };
      };
      const calm = await story({ ask: () => undefined }, 'same');
      expect(calm.survived).toBe(true);
      expect(calm.left).toEqual(calm.end);
      // Nothing is missing in the list of where it is killed.
      expect(calm.acts.filter((act) => expectedActs.includes(act))).toEqual(expect.arrayContaining(expectedActs));

      const schema = await database.newSchema();
      await before(schema);
      const untouched = (await sql("SELECT to_regclass('events') AS name"))[0]?.['name']
        ? await seen()
        : { rows: [], deliveries: [] };

      let survived = false;
      let number = 1;
      for (; !survived; number += 1) {
        const at = number;
        const killed = await story(
          { ask: (_act, n) => (n === at ? 'before' : undefined) },
          at % 2 === 0 ? 'same' : 'other',
        );
        survived = killed.survived;
        const isCommitted = killed.acts.slice(0, survived ? at : at - 1).includes('COMMIT');
        expect([at, killed.acts.at(-1), killed.left]).toEqual([
          at,
          killed.acts.at(-1),
          isCommitted ? calm.end : untouched,
        ]);
        expect([at, killed.end]).toEqual([at, calm.end]);
      }
      expect(number).toBeGreaterThan(expectedActs.length);

      for (const killed of [false, true]) {
        // The commit is done, and its answer lost.
        const lost = await story(
          { ask: (act) => (act === 'COMMIT' ? 'after' : undefined), killed },
          killed ? 'same' : 'other',
        );
        expect([lost.survived, lost.left, lost.end]).toEqual([false, calm.end, calm.end]);
      }
      for (const last of ['more', 'COMMIT']) {
        const dead = await story({ ask: (act) => (act === last ? 'before' : undefined), killed: true }, 'same');
        expect([dead.survived, dead.left, dead.end]).toEqual([false, untouched, calm.end]);
      }
    },
    300_000,
  );
});
