/** Reads requests of SDKs: small ones at once, all others in processes of their own, so that none holds up another. */
import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import { ReaderBusy, type ReadRequest } from '../../../lib/capture/answers.ts';
import { contentOf, type RequestContent } from '../../../lib/capture/content.ts';
import type { RefusedPayload } from '../../../lib/capture/payload.ts';
import type { DecodeLimits } from '../../../lib/capture/undecodable.ts';
import { networkOf } from '../../../lib/http/network.ts';
import { Transient } from '../../../lib/ports/errors.ts';
import type { Log } from '../../../lib/ports/log.ts';
import { WorkerLost, type WorkerPool, workerPool } from '../../../lib/workers/pool.ts';
import { LineFull, Turns } from '../../../lib/workers/turns.ts';
import type { FiledRequest } from '../workers/read-worker.ts';

/**
 * What has more, as it is sent or when it is unpacked, is read elsewhere. A request of fifty events has some 50 kB and
 * 1,500 values. To read 230 kB of such events takes 4 ms, of the worst that 20,000 values can be some 50 ms.
 */
const AT_ONCE: DecodeLimits = { bytes: 256 * 1024, values: 20_000 };

/**
 * After so much reading the network is looked at before an address has its next turn: a few hundred bytes may unpack to what
 * takes 25 ms, and who sends a thousand of them must not keep all others waiting. Fifty events take 0.4 ms.
 */
const SLICE_MS = 20;
const READING = {
  atOnce: Number.POSITIVE_INFINITY,
  each: 1,
  waiting: { each: 1_000, all: 10_000, areStrangers: true },
};

/** Owners are addresses: one that sends what takes long waits for itself. */
const TURNS = { atOnce: 2, each: 1, waiting: { each: 8, all: 32, areStrangers: true } };
/** Less than what landing has: what is accepted must land, and it needs as much there to be read. */
const MEMORY_MB = { each: 500, all: 700 };
/** 96 MB of 480,000 events take 3 to 5 s. */
const SILENCE_MS = 30 * SECOND_MS;

interface RequestReader {
  /** Throws `ReaderBusy` when too many wait. What takes more time or memory than there is, is refused as too large. */
  readonly read: ReadRequest;
  close(): Promise<void>;
}

/** `folder` is for the bodies that are being read. */
export function requestReader(folder: string, log: Pick<Log, 'warning'>): RequestReader {
  const pool = workerPool({
    program: join(import.meta.dirname, '../workers/read-worker.ts'),
    options: null,
    what: 'Reading the request',
    turns: TURNS,
    memory: MEMORY_MB,
    silenceMs: SILENCE_MS,
    folder,
    log,
  });
  const readHere = readingInSlices();
  return {
    read: async (request) => {
      const content = await readHere(request);
      if (!('status' in content) || content.status !== 413) return content;
      await mkdir(folder, { recursive: true });
      const { body, ...about } = request;
      const file = join(folder, `${randomUUID()}.request`);
      try {
        await writeFile(file, body);
        return await readElsewhere(pool, { ...about, file });
      } finally {
        await rm(file, { force: true });
      }
    },
    close: () => pool.close(),
  };
}

/** Returns what reads requests in this process. */
function readingInSlices(): ReadRequest {
  const turns = new Turns(READING);
  let spent = 0;
  return async (request) => {
    const done = await turns.take(networkOf(request.address)).catch(busy);
    const began = performance.now();
    try {
      return contentOf(request, AT_ONCE);
    } finally {
      spent += performance.now() - began;
      if (spent < SLICE_MS) done();
      else
        setImmediate(() => {
          spent = 0;
          done();
        });
    }
  };
}

function busy(error: unknown): never {
  if (error instanceof LineFull || error instanceof Transient)
    throw new ReaderBusy('Too many large requests are being read at this moment.');
  throw error;
}

async function readElsewhere(pool: WorkerPool, input: FiledRequest): Promise<RequestContent | RefusedPayload> {
  try {
    return (await pool.run({ name: 'read', input, owner: networkOf(input.address) })) as
      | RequestContent
      | RefusedPayload;
  } catch (error) {
    if (error instanceof WorkerLost)
      return { status: 413, reason: 'too_large', detail: `${error.message} Send fewer events at a time.` };
    return busy(error);
  }
}
