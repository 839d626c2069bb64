/** The forms of destinations: what each type takes, in the order in which people know it. */

export interface Field {
  /** The key in the destination's config. */
  readonly key: string;
  readonly label: string;
  readonly help?: string;
  readonly kind: 'text' | 'secret' | 'number' | 'switch' | 'choice';
  readonly choices?: readonly string[];
  readonly initial?: string | number | boolean;
  readonly isRequired?: boolean;
  /** Returns what is wrong with a text, before anybody is asked; undefined: nothing that is known here. */
  readonly fault?: (text: string) => string | undefined;
  /** What says that there is none; default: null. */
  readonly empty?: '';
}

export interface DestinationForm {
  readonly type: string;
  readonly about: string;
  readonly fields: readonly Field[];
}

/** The path of a folder from the top of its disk. */
const WHOLE_PATH = /^\s*(\/|[A-Za-z]:[\\/])/;

const FILES: readonly Field[] = [
  { key: 'file_format', label: 'File format', kind: 'choice', choices: ['JSONLines', 'Parquet'], initial: 'JSONLines' },
  {
    key: 'compression',
    label: 'Compression',
    help: 'JSON lines: gzip or brotli. Parquet: all.',
    kind: 'choice',
    choices: ['', 'gzip', 'brotli', 'zstd', 'lz4', 'snappy'],
    initial: '',
  },
];

/** The fields of a database, and at which port it usually is. */
const database = (port: number): readonly Field[] => [
  { key: 'host', label: 'Host', kind: 'text', isRequired: true },
  { key: 'port', label: 'Port', kind: 'number', initial: port, isRequired: true },
  { key: 'database', label: 'Database', kind: 'text', isRequired: true },
  { key: 'user', label: 'User', kind: 'text', isRequired: true },
  { key: 'password', label: 'Password', kind: 'secret', isRequired: true },
  { key: 'schema', label: 'Schema', kind: 'text', initial: 'public', isRequired: true },
  { key: 'table_name', label: 'Table', kind: 'text', initial: 'events', isRequired: true },
  {
    key: 'use_automatic_schema_evolution',
    label: 'Add columns that the table lacks',
    kind: 'switch',
    initial: false,
  },
];

export const DESTINATIONS: readonly DestinationForm[] = [
  {
    type: 'Postgres',
    about: 'Rows of a table in PostgreSQL.',
    fields: [
      ...database(5432),
      { key: 'has_self_signed_cert', label: 'Its certificate is self-signed', kind: 'switch', initial: false },
    ],
  },
  {
    type: 'S3',
    about: 'Files in a bucket of S3, or of a server that speaks as S3 does.',
    fields: [
      { key: 'bucket_name', label: 'Bucket', kind: 'text', isRequired: true },
      { key: 'region', label: 'Region', kind: 'text', initial: 'us-east-1', isRequired: true },
      { key: 'prefix', label: 'Prefix', help: 'Such as exports/{table}', kind: 'text', isRequired: true },
      { key: 'aws_access_key_id', label: 'Access key id', kind: 'secret', isRequired: true },
      { key: 'aws_secret_access_key', label: 'Secret access key', kind: 'secret', isRequired: true },
      ...FILES,
      { key: 'endpoint_url', label: 'Address of the server', help: 'Only if it is not Amazon’s.', kind: 'text' },
    ],
  },
  {
    type: 'Folder',
    about: 'Files in a folder of the machine that runs the service.',
    fields: [
      {
        key: 'path',
        label: 'Folder',
        help: 'A whole path, such as /srv/exports',
        kind: 'text',
        isRequired: true,
        fault: (path) => (path === '' || WHOLE_PATH.test(path) ? undefined : 'Begin it at the top, as /srv/exports.'),
      },
      { key: 'prefix', label: 'Prefix', help: 'Such as {table}', kind: 'text', initial: '{table}', empty: '' },
      ...FILES,
    ],
  },
  {
    type: 'HTTP',
    about: 'A receiver that takes events as PostHog’s own address does.',
    fields: [
      { key: 'url', label: 'Address', help: 'Such as https://eu.i.posthog.com/batch/', kind: 'text', isRequired: true },
      { key: 'token', label: 'Token', kind: 'secret', isRequired: true },
    ],
  },
  {
    type: 'Redshift',
    about: 'Rows of a table in Amazon Redshift.',
    fields: [
      ...database(5439),
      {
        key: 'properties_data_type',
        label: 'Properties are',
        kind: 'choice',
        choices: ['varchar', 'super'],
        initial: 'varchar',
      },
    ],
  },
];

export type Values = Readonly<Record<string, string | number | boolean>>;

/** Returns what the form of a new destination begins with. */
export const initialValues = ({ fields }: DestinationForm): Values =>
  Object.fromEntries(fields.map(({ key, kind, initial }) => [key, initial ?? (kind === 'switch' ? false : '')]));

/** Returns what the form of a destination begins with that there is: secrets are never told, and stay while left empty. */
export const storedValues = ({ fields }: DestinationForm, config: Readonly<Record<string, unknown>>): Values =>
  Object.fromEntries(
    fields.map(({ key, kind }) => {
      const value = config[key];
      if (kind === 'switch') return [key, value === true];
      return [key, typeof value === 'string' || typeof value === 'number' ? String(value) : ''];
    }),
  );

/** Is a value something that no destination takes? */
export const hasFault = ({ fields }: DestinationForm, values: Values): boolean =>
  fields.some(({ key, fault }) => fault?.(String(values[key] ?? '')) !== undefined);

/** Returns the config that the values say; what is left empty is not sent. */
export const configOf = ({ fields }: DestinationForm, values: Values): Record<string, unknown> =>
  Object.fromEntries(fields.flatMap(({ key }) => (values[key] === '' ? [] : [[key, values[key]]])));

/** Returns what of the config has changed; what was emptied is null, or the empty text that it may be. */
export const changedConfig = ({ fields }: DestinationForm, values: Values, before: Values): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap(({ key, empty = null }) =>
      values[key] === before[key] ? [] : [[key, values[key] === '' ? empty : values[key]]],
    ),
  );
