import * as z from 'zod';
import type { Model } from '../../lake/schema.ts';
import { checkDatabaseConfig, DATABASE_KEYS, ledgerOf } from './databases/config.ts';
import { noteDelivery, noteNothing, prepareLedger, priorDelivery, withUuid } from './databases/ledger.ts';
import { mergeEvents, mergePersons, PERSON_KEY, TEMPORARY_TABLE } from './databases/merge.ts';
import { type Authorization, copyThroughBucket, insertRows } from './databases/redshift-load.ts';
import type { Account, Session } from './databases/session.ts';
import { commitTransaction, inSession } from './databases/session-delivery.ts';
import { quotedList, tableOf } from './databases/sql-identifier.ts';
import { databaseSteps, inSessionOf, insertNothing, type Trial } from './databases/steps.ts';
import {
  defaultColumns,
  namesOf,
  prepareTable,
  type TableColumn,
  type TableDialect,
  tableColumns,
  typesOf,
} from './databases/table.ts';
import type { Delivery, Destination, Receipt } from './destination.ts';
import { ACCESS_KEY, type BucketConfig, REGION } from './files/bucket.ts';
import { refuseConfig } from './refusal.ts';

/** Keys of S3; both or neither, which `check` says in PostHog's words. */
const KeyPair = z.strictObject({
  aws_access_key_id: z.string().optional(),
  aws_secret_access_key: z.string().optional(),
});

const CopyInputs = z.strictObject({
  s3_bucket: z.string().optional(),
  region_name: z.string().optional(),
  s3_key_prefix: z.string().default('/'),
  /** With these we write into the bucket. */
  bucket_credentials: KeyPair.optional(),
  /** With this Redshift reads from it: a role, or keys. */
  authorization: z.union([z.string(), KeyPair]).optional(),
});

const RedshiftConfig = z.object({
  ...DATABASE_KEYS,
  port: z.int().default(5439),
  /** What columns of JSON are. */
  properties_data_type: z.enum(['varchar', 'super']).default('varchar'),
  mode: z.enum(['INSERT', 'COPY']).default('INSERT'),
  copy_inputs: CopyInputs.nullable().default(null),
});

type RedshiftConfig = z.infer<typeof RedshiftConfig>;

/** The most that a VARCHAR takes, in bytes. */
const TEXT = 'VARCHAR(65535)';

const jsonType = ({ properties_data_type: type }: RedshiftConfig): string => (type === 'super' ? 'SUPER' : TEXT);

const columnsFor = (config: RedshiftConfig, model: Model): readonly TableColumn[] =>
  // VARCHAR(200) would hold 200 bytes.
  defaultColumns({ name: TEXT, text: TEXT, json: jsonType(config), elements: TEXT })[model];

const MAX_NAME_BYTES = 127;

const dialectOf = (config: RedshiftConfig): TableDialect => ({
  types: typesOf(TEXT, jsonType(config)),
  // Also of names in quotes, unless a session asks for more.
  folded: (name) => name.toLowerCase(),
  // It has no setting for that.
  beforeChange: '',
  // now() is no function of the nodes that hold the data.
  now: 'GETDATE()',
  maxNameBytes: MAX_NAME_BYTES,
});

const accountOf = (config: RedshiftConfig): Account => ({ ...config, has_self_signed_cert: false });

/** What COPY needs: where files lie meanwhile, and who may read them. */
interface Staging {
  readonly bucket: BucketConfig;
  readonly prefix: string;
  readonly authorization: Authorization;
}

/** Returns what COPY needs. Throws a `Failure` with PostHog's text when something is missing. */
function stagingOf({ copy_inputs: inputs }: RedshiftConfig): Staging {
  if (inputs === null || Object.keys(inputs).length === 0) refuseConfig("Missing required inputs for 'COPY'");
  const { s3_bucket, region_name, bucket_credentials, authorization, s3_key_prefix } = inputs;
  if (!s3_bucket || !region_name || bucket_credentials === undefined || authorization === undefined) {
    refuseConfig("Missing required input for 'COPY'");
  }
  const ours = keysOf(bucket_credentials) ?? refuseConfig("Missing required bucket credentials for 'COPY'");
  if (typeof authorization === 'string' && authorization.trim() === '') {
    refuseConfig("Missing required IAM role for 'COPY'");
  }
  const theirs =
    typeof authorization === 'string'
      ? authorization
      : (keysOf(authorization) ?? refuseConfig("Missing required credentials for 'COPY'"));
  const bucket = { bucket_name: s3_bucket, region: region_name, ...ours };
  return {
    bucket: { ...bucket, endpoint_url: null, use_virtual_style_addressing: false },
    prefix: s3_key_prefix,
    authorization: theirs,
  };
}

function keysOf({ aws_access_key_id, aws_secret_access_key }: z.infer<typeof KeyPair>) {
  return aws_access_key_id && aws_secret_access_key ? { aws_access_key_id, aws_secret_access_key } : undefined;
}

/** Throws a `Failure` when what becomes a part of a statement or of a request does not look like what it is. */
function checkStaging({ bucket, prefix, authorization }: Staging): void {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket.bucket_name))
    refuseConfig('s3_bucket is not the name of a bucket.');
  if (!REGION.test(bucket.region)) {
    refuseConfig('region_name must be the name of a region, such as us-east-1.');
  }
  if (!prefix.isWellFormed() || /[\p{Cc}\\]/u.test(prefix) || Buffer.byteLength(prefix) > 512) {
    refuseConfig('s3_key_prefix may have 512 bytes, without control characters and backslashes.');
  }
  const keys = typeof authorization === 'string' ? [bucket] : [bucket, authorization];
  for (const { aws_access_key_id, aws_secret_access_key } of keys) {
    if (!ACCESS_KEY.test(`${aws_access_key_id}${aws_secret_access_key}`)) {
      refuseConfig('An access key of copy_inputs holds characters that no key has.');
    }
  }
  if (typeof authorization === 'string' && !/^(default|arn:[\w+=,.@:/-]+)$/.test(authorization)) {
    refuseConfig("authorization must be the ARN of a role, 'default', or an access key with its secret.");
  }
}

/**
 * Returns the destination that is a table of Amazon Redshift. `deliver` loads the rows into a temporary table of a
 * session, by INSERT or by COPY from files in the customer's bucket; `commit` brings them into the table in one
 * transaction, under a lock on the ledger, as keys are not enforced there: an interval that this run has delivered is not
 * delivered again, and where another run has, rows are merged. Persons are merged by key and version. `reach`:
 * where a bucket is.
 */
export const redshiftVia = (
  reach: (bucket: BucketConfig) => BucketConfig,
): Destination<RedshiftConfig, Receipt, Session> => ({
  type: 'Redshift',
  config: RedshiftConfig,
  secrets: ['user', 'password', 'aws_access_key_id', 'aws_secret_access_key'],
  addresses: ['host', 'port', 'copy_inputs.s3_bucket', 'copy_inputs.authorization'],

  check(config, _model, allowed) {
    checkDatabaseConfig(config, MAX_NAME_BYTES, allowed);
    if (config.mode === 'COPY') checkStaging(stagingOf(config));
  },

  steps: [
    ...databaseSteps<RedshiftConfig>(accountOf, dialectOf, tryOut),
    {
      name: 'Copy through the bucket',
      description:
        'Ensure that we may write into the S3 bucket, and that Redshift may read from it. Nothing of it stays.',
      skipped: ({ mode }) => (mode === 'COPY' ? undefined : 'Rows are inserted; only COPY needs a bucket.'),
      run: (config, outbound, allowed, signal) =>
        inSessionOf(accountOf(config), { outbound, reach: allowed, signal }, async (session) => {
          await session.query(`CREATE TEMPORARY TABLE ${TEMPORARY_TABLE} ("sample" ${TEXT})`);
          const { bucket, ...staging } = stagingOf(config);
          await copyThroughBucket(session, oneRow(), {
            ...staging,
            bucket: reach(bucket),
            folder: `test-${crypto.randomUUID()}`,
            columns: ['sample'],
            outbound,
            signal,
            say: () => {},
          });
        }),
    },
  ],

  ...inSession<RedshiftConfig>({
    account: accountOf,
    prepare: (session, delivery) => load(session, delivery, reach),
    finish: (session, delivery) =>
      delivery.model === 'persons' ? finishPersons(session, delivery) : finishEvents(session, delivery),
  }),
});

export const redshift = redshiftVia((bucket) => bucket);

async function* oneRow(): AsyncGenerator<Buffer> {
  yield Buffer.from('one row\n');
}

const columnsOf = (trial: Trial<RedshiftConfig>): TableColumn[] =>
  tableColumns(trial, columnsFor(trial.config, trial.model), dialectOf(trial.config));

/** Makes the tables ready for a delivery, and the temporary one, and returns its columns. */
async function prepareTables(session: Session, trial: Trial<RedshiftConfig>): Promise<TableColumn[]> {
  const { config, model } = trial;
  const dialect = dialectOf(config);
  const columns = columnsOf(trial);
  await prepareLedger(session, config, dialect);
  await prepareTable(session, config, columns, model === 'persons' ? PERSON_KEY : [], dialect);
  const names = quotedList(namesOf(columns));
  await session.query(
    `CREATE TEMPORARY TABLE ${TEMPORARY_TABLE} AS SELECT ${names} FROM ${tableOf(config)} WHERE 1 = 0`,
  );
  return columns;
}

async function tryOut(session: Session, trial: Trial<RedshiftConfig>): Promise<void> {
  const { config, model } = trial;
  const table = tableOf(config);
  const columns = await prepareTables(session, trial);
  await insertNothing(session, table, namesOf(columns));
  if (model === 'persons') await session.query(`DELETE FROM ${table} WHERE 1 = 0`);
  else await noteNothing(session, config, dialectOf(config));
}

/** Has the rows wait in the session. Returns the bytes that were sent. */
async function load(
  session: Session,
  delivery: Delivery<RedshiftConfig>,
  reach: (bucket: BucketConfig) => BucketConfig,
): Promise<number> {
  const { config, model, attempt, interval, outbound, signal } = delivery;
  await session.query('SET statement_timeout TO 0');
  const columns = await prepareTables(session, delivery);
  const entry = withUuid(delivery, columns, dialectOf(config));
  if (model === 'events' && (await priorDelivery(session, entry)).is === 'delivered') return 0;
  const rows = delivery.rows({ format: 'CopyText', columns });
  if (config.mode === 'INSERT') return insertRows(session, rows, columns);
  const { bucket, ...staging } = stagingOf(config);
  return copyThroughBucket(session, rows, {
    ...staging,
    bucket: reach(bucket),
    // Every attempt writes over what a killed one left.
    folder: `${attempt}/${new Date(interval.start).toISOString()}`,
    columns: namesOf(columns),
    outbound,
    signal,
    say: (level, message) => delivery.say(level, message),
  });
}

async function begin(session: Session, config: RedshiftConfig): Promise<void> {
  await session.query('BEGIN');
  // First of all, before anything is read: whoever waits here sees what was committed meanwhile.
  await session.query(`LOCK TABLE ${ledgerOf(config)}`);
}

async function finishEvents(session: Session, delivery: Delivery<RedshiftConfig>): Promise<void> {
  const { config } = delivery;
  const columns = columnsOf(delivery);
  const dialect = dialectOf(config);
  const entry = withUuid(delivery, columns, dialect);
  await begin(session, config);
  const prior = await priorDelivery(session, entry);
  if (prior.is !== 'delivered') {
    const { rows } = await session.query(`SELECT count(*) AS records FROM ${TEMPORARY_TABLE}`);
    const records = Number(rows[0]?.['records']);
    if (prior.is === 'fresh') {
      const names = quotedList(namesOf(columns));
      await session.query(`INSERT INTO ${tableOf(config)} (${names}) SELECT ${names} FROM ${TEMPORARY_TABLE}`);
    } else await mergeEvents(session, entry, columns, records, prior);
    await noteDelivery(session, entry, records, dialect);
  }
  await commitTransaction(session);
}

async function finishPersons(session: Session, delivery: Delivery<RedshiftConfig>): Promise<void> {
  await begin(session, delivery.config);
  await mergePersons(session, delivery.config, columnsOf(delivery));
  await commitTransaction(session);
}
