/** The first records of a file, as an import would take them. */
import { randomUUID } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type * as z from 'zod';
import { wireInstant } from '../http/instant.ts';
import { columnsOf } from '../lake/sources/csv.ts';
import { linesOf } from '../lake/sources/lines.ts';
import { openSource } from '../lake/sources/open.ts';
import { beginsAsParquet } from '../lake/sources/parquet.ts';
import type { SourceRecord } from '../lake/sources/record.ts';
import type { FileStore } from '../ports/files/files.ts';
import type { PreviewTask } from './imports.ts';
import type { Preview } from './model.ts';
import { joinParts } from './spool.ts';

/** Records that are shown, and characters of their properties and lines. */
const SHOWN = { records: 20, length: 500 };

/** DuckDB's, which reads Parquet. */
const MEMORY_LIMIT = '150MB';

/** Returns the first records of uploaded parts. `folder` is on the local disk, and the caller's to remove. */
export async function previewOf(
  files: FileStore,
  { paths, isWhole, options }: PreviewTask,
  folder: string,
): Promise<z.input<typeof Preview>> {
  const path = join(folder, `preview-${randomUUID()}`);
  try {
    // Of lines the first part has enough.
    await joinParts(files, paths.slice(0, 1), path);
    const isParquet = options.format === 'parquet' || (await beginsAsParquet(path));
    if (isParquet && !isWhole) return { format: 'parquet', columns: null, records: [], problem: PARQUET_LATER };
    if (isParquet && paths.length > 1) await joinParts(files, paths, path);
    const limits = { memoryLimit: MEMORY_LIMIT, tempDirectory: join(folder, 'rows') };
    const isCut = !isParquet && (paths.length > 1 || !isWhole);
    const source = await openSource({ ...options, path, size: (await stat(path)).size, limits, onlyEnded: isCut });
    const records: SourceRecord[] = [];
    for await (const some of source.batches()) {
      records.push(...some.filter(({ content }) => content !== null).slice(0, SHOWN.records - records.length));
      if (records.length >= SHOWN.records) break;
    }
    const isEmpty = records.length === 0 && !isCut;
    return {
      format: source.format(),
      columns: isParquet ? source.columns() : await csvColumns(path, source.format()),
      records: records.map(recordObject),
      // What is cut off is not damaged for that.
      problem: isCut && records.length > 0 ? null : (source.problem() ?? (isEmpty ? NO_RECORD : null)),
    };
  } finally {
    await rm(path, { force: true });
  }
}

const NO_RECORD = 'There is no record in it.';
const PARQUET_LATER = 'A Parquet file is read when all of it is uploaded.';

/** Returns the columns of a table, and of what may be one: a file of no known format, whose columns somebody could name. */
async function csvColumns(path: string, format: string | null): Promise<string[] | null> {
  if (format !== 'csv' && format !== null) return null;
  for await (const lines of linesOf(path).batches()) {
    const header = lines.find(({ text, problem }) => problem === undefined && text.trim() !== '');
    if (header === undefined) continue;
    const names = columnsOf(header.text.slice(0, MAX_HEADER))?.names ?? [];
    return names.length > 1 ? names : null;
  }
  return null;
}

/** A header has no more characters. */
const MAX_HEADER = 64 * 1024;

function recordObject({ line, content }: SourceRecord): z.input<typeof Preview>['records'][number] {
  if (content === null || typeof content === 'string') {
    return {
      line: line.number,
      event: null,
      distinct_id: null,
      timestamp: null,
      properties: cut(line.text),
      reason: content,
    };
  }
  return {
    line: line.number,
    event: content.event,
    distinct_id: cut(content.distinctId),
    timestamp: wireInstant(Math.floor(content.timestamp / 1000)),
    properties: cut(content.properties),
    reason: null,
  };
}

const cut = (text: string): string => text.slice(0, SHOWN.length).toWellFormed();
