import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  Config,
  Delivery,
  Destination,
  Planned,
  Prepared,
  Receipt,
} from '../../lib/exports/destinations/destination.ts';
import { openOutbound } from '../../lib/ports/outbound/outbound.ts';
import { packed, packingOf } from '../../lib/warehouse/packing.ts';
import type { FormedFile } from '../../lib/warehouse/warehouse.ts';
import { copyRows } from './copy-rows.ts';

/** The hour that test deliveries are about. */
export const INTERVAL = { start: Date.UTC(2023, 6, 28, 0), end: Date.UTC(2023, 6, 28, 1) };

/** The export of test deliveries, and another one. */
export const EXPORT = '01890000-0000-7000-8000-000000000001';
export const OTHER_EXPORT = '01890000-0000-7000-8000-000000000009';

/** The run of test deliveries, and another one of the same export. */
export const RUN = '01890000-0000-5000-8000-000000000002';
export const OTHER_RUN = '01890000-0000-5000-8000-000000000003';

const LINES = 1024;
const LINE_BYTES = 127;

/** Pieces of 1,024 lines, made once. */
const pieces: Buffer[] = [];

function piece(at: number): Buffer {
  let made = pieces[at];
  if (made === undefined) {
    const hash = createHash('shake256', { outputLength: 59 * LINES });
    const noise = hash.update(`lines from ${at * LINES}`).digest('hex');
    made = Buffer.from(noise.replace(/.{118}/g, '{"r":"$&"}\n'));
    pieces[at] = made;
  }
  return made;
}

/** Lines of 127 bytes that do not compress well, in pieces of 1,024 lines: the same ones each time. */
export async function* lines(count: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < count; from += LINES) {
    yield piece(from / LINES).subarray(0, LINE_BYTES * Math.min(LINES, count - from));
  }
}

/** Returns all that comes, in one piece. */
export async function atOnce(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The same lines as files below a folder, of at most so many bytes each: what a destination takes as Parquet. */
export async function* formedLines(below: string, count: number, fileBytes: number): AsyncGenerator<FormedFile> {
  const all = await atOnce(lines(count));
  const folder = mkdtempSync(join(below, 'formed-'));
  const path = join(folder, 'file');
  try {
    for (let from = 0; from < all.length; from += fileBytes) {
      writeFileSync(path, all.subarray(from, from + fileBytes));
      yield { path, isPart: all.length > fileBytes };
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns a text that is another one for other bytes. */
export const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Returns a delivery of so many lines (of COPY text: events or persons) to a local address, but for the changes. */
export function delivery<C extends Config>(
  destination: Destination<C>,
  config: Config,
  count: number,
  changes: Partial<Delivery<C>> = {},
): Delivery<C> {
  const reach = { privateAddresses: true, folderRoots: null, dataDirectory: null };
  let note: string | undefined;
  return {
    exportId: EXPORT,
    nameOf: async (id) => `the batch export called ${id}`,
    runId: RUN,
    attempt: `${changes.exportId ?? EXPORT}-1`,
    model: 'events',
    teamId: 1,
    interval: INTERVAL,
    config: destination.config.parse(config) as C,
    columns: (defaults) => defaults,
    rows: (form) =>
      form.format === 'CopyText' ? copyRows(changes.model ?? 'events', count) : packed(lines(count), packingOf(form)),
    files: () => {
      throw new Error('these rows are lines');
    },
    outbound: openOutbound(reach),
    reach,
    signal: new AbortController().signal,
    clock: Date.now,
    say: () => {},
    pause: async () => {},
    keep: async (kept) => {
      note = JSON.stringify(kept);
    },
    kept: async () => (note === undefined ? undefined : JSON.parse(note)),
    ...changes,
  };
}

/** An export that delivers all events in the destination's own columns. */
export const PLAIN = { model: 'events', hogql_query: null, schema: null, filters: null } as const;

/** Returns what an export would deliver, as connection checks ask: the destination's own columns, but for the changes. */
export const planned =
  (changes: Partial<Pick<Delivery, 'model' | 'columns'>> = {}): Planned =>
  async () => ({ model: PLAIN.model, columns: (defaults) => defaults, ...changes });

/** Runs one of a destination's connection checks, from 0, with what a delivery is given. */
export const check = async <C extends Config>(
  { steps }: Destination<C>,
  { config, outbound, reach, signal }: Delivery<C>,
  n = 0,
  trial: Parameters<typeof planned>[0] = {},
): Promise<string | void> => steps[n]?.run(config, outbound, reach, signal, planned(trial));

/**
 * Brings a delivery to its end: the receipt is kept before the commit, and a kept receipt is committed. Without a file for
 * the receipt none was kept.
 */
export async function send<C extends Config>(
  destination: Destination<C>,
  given: Delivery<C>,
  receiptFile?: string,
): Promise<Receipt> {
  let prepared: Prepared | undefined;
  let text = receiptFile !== undefined && existsSync(receiptFile) ? readFileSync(receiptFile, 'utf8') : undefined;
  if (text === undefined) {
    prepared = await destination.deliver(given);
    text = JSON.stringify(prepared.receipt);
    if (receiptFile !== undefined) {
      writeFileSync(`${receiptFile}.new`, text);
      renameSync(`${receiptFile}.new`, receiptFile);
    }
  }
  const receipt = JSON.parse(text) as Receipt;
  await destination.commit(given, { ...prepared, receipt });
  return receipt;
}

/** Returns what the work failed with; undefined: it did not. */
export const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
