/** Every format that a file may have, made of a lake by the real warehouse, and read back by DuckDB. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { HOUR_MS } from '../../../../lib/basics/units.ts';
import { literal, pathList } from '../../../../lib/duckdb/database.ts';
import type { Delivery, Destination } from '../../../../lib/exports/destinations/destination.ts';
import { folder } from '../../../../lib/exports/destinations/folder.ts';
import { s3 } from '../../../../lib/exports/destinations/s3.ts';
import { folderFiles } from '../../../../lib/ports/files/folder.ts';
import { duckdbWarehouse } from '../../../../lib/warehouse/duckdb.ts';
import type { FrozenPlan } from '../../../../lib/warehouse/warehouse.ts';
import { onAnyFile } from '../../../support/any-file.ts';
import { type Bucket, startBucket } from '../../../support/bucket.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { delivery, digest, send } from '../../../support/delivery.ts';
import { planOf, writeRows } from '../../../support/lake-rows.ts';

const START = Date.UTC(2026, 0, 1);
const INTERVAL = { start: START, end: START + HOUR_MS };
const STEM = '2026-01-01T00:00:00+00:00-2026-01-01T01:00:00+00:00';
const MIB = 1024 ** 2;

/** Hexadecimal digits that look like chance and are the same each time. */
const noise = (seed: number, length: number): string =>
  createHash('shake256', { outputLength: length / 2 })
    .update(String(seed))
    .digest('hex');

/** Each has 4,000 characters that no codec makes much smaller: 700 of them are 2.8 MB, or half of it when packed. */
const ROWS = Array.from({ length: 700 }, (_, n) => ({
  uuid: `01940000-0000-7000-8000-${String(n).padStart(12, '0')}`,
  event: n % 7 === 0 ? 'rare' : 'paid',
  distinct_id: n === 3 ? 'Ünï "q" \\ \n 漢😀' : `user-${n}`,
  properties: JSON.stringify({ n, noise: noise(n, 4000) }),
  timestamp_us: START * 1000 + n,
  inserted_us: START * 1000 + n * 1000,
  created_us: n % 2 === 0 ? null : START * 1000,
  person_properties: n % 3 === 0 ? null : '{"plan":"free"}',
}));

const root = temporaryFolder();
const lake = folderFiles(join(root, 'lake'));
const warehouse = duckdbWarehouse({ lake, tempDirectory: join(root, 'spill') });
let listed: FrozenPlan['files'];
let bucket: Bucket;

beforeAll(async () => {
  listed = await writeRows(lake, [ROWS.slice(0, 400), ROWS.slice(400)]);
  bucket = await startBucket();
});
afterEach(() => bucket.empty());
afterAll(async () => {
  await warehouse.close();
  await bucket.close();
});

/** A delivery of the lake's rows. */
function given(to: Destination, config: object, excludeEvents: string[] | null = null): Delivery {
  const plan = planOf({ files: listed, intervals: [INTERVAL] }, { query: { excludeEvents } });
  const { signal } = new AbortController();
  return delivery(to, config as Delivery['config'], 0, {
    interval: INTERVAL,
    rows: (form) => warehouse.read(plan, INTERVAL, form, signal),
    files: (form) => warehouse.files(plan, INTERVAL, form, signal),
  });
}

/** Delivers; gives what lies there then, by its name. */
async function delivered(to: Destination, config: object, excludeEvents?: string[]): Promise<Map<string, Buffer>> {
  const one = given(to, config, excludeEvents);
  await send(to, one);
  if (to.type === 'S3') {
    const keys = await bucket.keys();
    return new Map(await Promise.all(keys.map(async (key) => [key, (await bucket.read(key)).body] as const)));
  }
  const path = String(one.config['path']);
  const names = readdirSync(path)
    .filter((name) => !name.startsWith('.'))
    .toSorted();
  return new Map(names.map((name) => [name, readFileSync(join(path, name))]));
}

/** The files that count: those of the manifest. */
function counted(files: ReadonlyMap<string, Buffer>, prefix = ''): Buffer[] {
  const manifest = JSON.parse(String(files.get(`${prefix}${STEM}_manifest.json`))) as { files: string[] };
  return manifest.files.map((name) => files.get(name) ?? Buffer.alloc(0));
}

let written = 0;
/** The bytes as files with plain names. */
const onDisk = (parts: readonly Buffer[], extension: string): string[] =>
  parts.map((bytes) => {
    const file = join(root, `${(written += 1)}${extension}`);
    writeFileSync(file, bytes);
    return file;
  });

const answers = (sql: string) =>
  onAnyFile(async (connection) => (await connection.runAndReadAll(sql)).getRowObjectsJson());

/** What is read back of them. */
const EXPECTED = ROWS.map((row) => ({
  uuid: row.uuid,
  event: row.event,
  distinct_id: row.distinct_id,
  properties: row.properties,
  at: String(row.timestamp_us),
  created: row.created_us === null ? null : String(row.created_us),
  person_properties: row.person_properties,
}));

/** Of a tenth of the rows, for DuckDB packs less than a megabyte a second in brotli. */
const RARE = EXPECTED.filter(({ event }) => event === 'rare');

/** What DuckDB reads, in the order of the files. */
const read = (from: string) =>
  answers(`SELECT uuid, event, distinct_id, properties::VARCHAR AS properties, epoch_us(timestamp) AS at,
    epoch_us(created_at) AS created, person_properties::VARCHAR AS person_properties FROM ${from}`);

const readLines = (files: readonly string[]) =>
  read(`read_json(${pathList(files)}, format = 'newline_delimited', columns = {uuid: 'VARCHAR', event: 'VARCHAR',
    distinct_id: 'VARCHAR', properties: 'JSON', timestamp: 'TIMESTAMPTZ', created_at: 'TIMESTAMPTZ',
    person_properties: 'JSON'})`);

const newFolder = (): string => join(temporaryFolder(), 'out');

describe.each([null, 'gzip', 'brotli'])('lines with compression %s', (compression) => {
  const extension = { gzip: '.jsonl.gz', brotli: '.jsonl.br' }[compression ?? ''] ?? '.jsonl';
  const asDuckdbReads = (parts: readonly Buffer[]): string[] =>
    compression === 'brotli'
      ? onDisk(
          parts.map((bytes) => brotliDecompressSync(bytes)),
          '.jsonl',
        )
      : onDisk(parts, extension);

  test('are what the lake holds, in a folder and in a bucket', async () => {
    const files = await delivered(folder, { path: newFolder(), compression });
    expect([...files.keys()]).toEqual([`${STEM}${extension}`]);
    expect(await readLines(asDuckdbReads([...files.values()]))).toEqual(EXPECTED);
    const objects = await delivered(s3, { ...bucket.config, compression });
    expect([...objects.keys()]).toEqual([`events/${STEM}${extension}`]);
    expect([...objects.values()][0]?.equals([...files.values()][0] ?? Buffer.alloc(0))).toBe(true);
  });

  test('are cut into files of about a megabyte, which the manifest names in order', async () => {
    const files = await delivered(folder, { path: newFolder(), compression, max_file_size_mb: 1 });
    const parts = counted(files);
    expect(parts.length).toBeGreaterThan(1);
    expect(files.size).toBe(parts.length + 1);
    expect(await readLines(asDuckdbReads(parts))).toEqual(EXPECTED);
  });
});

describe.each([null, 'zstd', 'lz4', 'snappy', 'gzip', 'brotli'])('Parquet with compression %s', (compression) => {
  const config = { file_format: 'Parquet', compression };

  test('is what the lake holds, with the types and the codec that were asked for', async () => {
    const files = await delivered(folder, { path: newFolder(), ...config }, ['paid']);
    expect([...files.keys()]).toEqual([`${STEM}.parquet`]);
    const [file = ''] = onDisk([...files.values()], '.parquet');
    expect(await read(literal(file))).toEqual(RARE);
    expect(await answers(`SELECT DISTINCT compression FROM parquet_metadata(${literal(file)})`)).toEqual([
      { compression: { lz4: 'LZ4_RAW' }[compression ?? ''] ?? compression?.toUpperCase() ?? 'UNCOMPRESSED' },
    ]);
    const columns = await answers(`SELECT name, type, converted_type, repetition_type
      FROM parquet_schema(${literal(file)}) WHERE name IN ('uuid', 'properties', 'timestamp', 'person_properties')`);
    expect(columns).toEqual([
      { name: 'uuid', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      { name: 'properties', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      { name: 'timestamp', type: 'INT64', converted_type: 'TIMESTAMP_MICROS', repetition_type: 'OPTIONAL' },
      { name: 'person_properties', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
    ]);
  });
});

describe.each([folder, s3] as unknown as Destination[])('several files in a $type', (to) => {
  const config = (more: object) => ({ ...(to.type === 'S3' ? bucket.config : { path: newFolder() }), ...more });
  const prefix = to.type === 'S3' ? 'events/' : '';
  const parquet = { file_format: 'Parquet', compression: 'zstd', max_file_size_mb: 1, legacy_parquet_extension: true };
  const form = to.type === 'S3' ? parquet : { ...parquet, legacy_parquet_extension: undefined };

  test('of Parquet are of about a megabyte, and hold the rows in the order of the manifest', async () => {
    const parts = counted(await delivered(to, config(form)), prefix);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(part.length).toBeLessThan(1.2 * MIB);
    expect(await read(`read_parquet(${pathList(onDisk(parts, '.parquet'))})`)).toEqual(EXPECTED);
  });

  test('are the same each time', async () => {
    const texts = (files: ReadonlyMap<string, Buffer>) => [...files].map(([name, bytes]) => `${name} ${digest(bytes)}`);
    const first = await delivered(to, config(form));
    await bucket.empty();
    const second = await delivered(to, config(form));
    expect(second.size).toBeGreaterThan(2);
    expect(texts(second)).toEqual(texts(first));
  });

  test('are fewer when there are fewer rows, and nothing of the surplus is left', async () => {
    const where = config({ max_file_size_mb: 1 });
    const many = await delivered(to, where);
    const few = await delivered(to, where, ['paid']);
    expect(many.size).toBe(4);
    expect([...few.keys()]).toEqual([`${prefix}${STEM}-0.jsonl`, `${prefix}${STEM}_manifest.json`]);
    expect(await readLines(onDisk(counted(few, prefix), '.jsonl'))).toEqual(RARE);
  });

  test('give way to one file, and one file to them, and leave the files of other formats alone', async () => {
    const where = config({});
    await delivered(to, { ...where, ...form, max_file_size_mb: null });
    await delivered(to, { ...where, max_file_size_mb: 1 });
    const whole = await delivered(to, where);
    const other = to.type === 'S3' ? '.parquet.zst' : '.parquet';
    expect([...whole.keys()]).toEqual([`${prefix}${STEM}.jsonl`, `${prefix}${STEM}${other}`]);
    const several = await delivered(to, { ...where, max_file_size_mb: 1 });
    expect([...several.keys()]).toEqual([
      ...[0, 1, 2].map((n) => `${prefix}${STEM}-${n}.jsonl`),
      `${prefix}${STEM}${other}`,
      `${prefix}${STEM}_manifest.json`,
    ]);
  });
});
