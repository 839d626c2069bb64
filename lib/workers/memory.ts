/** How much memory processes have, as the operating system tells. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { KIB, MIB } from '../basics/units.ts';

/** An allocator maps more than it uses: beside 260 MB that were resident, 800 were mapped. A thread maps its stack. */
const MAPPED_PER_RESIDENT = 3;
const THREAD_BYTES = 64 * MIB;

/** Of 1000: as if it had half of the machine's memory more than it has. */
const FIRST_TO_END = 500;

const hasProc = process.platform === 'linux';

/** Returns the resident bytes of processes, by their ids; one that is gone is not in it. */
export async function residentBytes(pids: readonly number[]): Promise<ReadonlyMap<number, number>> {
  return hasProc ? new Map(pids.flatMap((pid) => fromProc(pid))) : fromPs(pids);
}

function fromProc(pid: number): [pid: number, bytes: number][] {
  const bytes = statusOf(pid, 'VmRSS');
  return bytes === undefined ? [] : [[pid, bytes]];
}

/** Systems without /proc have `ps`. It takes some milliseconds, in another process. */
async function fromPs(pids: readonly number[]): Promise<Map<number, number>> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=,rss=', '-p', pids.join(',')]).catch(() => ({
    stdout: '',
  }));
  const lines = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return new Map(lines.flatMap(([pid, kb]) => (pid && kb ? [[pid, kb * KIB] as const] : [])));
}

function statusOf(pid: number | 'self', field: 'VmRSS' | 'VmData'): number | undefined {
  try {
    const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
    return found === null ? undefined : Number(found[1]) * KIB;
  } catch {
    return undefined;
  }
}

/**
 * Returns the words that start a program to which the operating system gives no more memory when it has several times
 * so many bytes, beyond what a process of this kind has anyway. It is a second limit, for what grows faster than a
 * watcher looks, and only where the system counts mapped memory so (Linux). Where memory is short there, the system ends
 * such a program before the one that started it.
 */
export function limitedTo(bytes: number, words: readonly [string, ...string[]]): [string, ...string[]] {
  const own = hasProc ? statusOf('self', 'VmData') : undefined;
  if (own === undefined) return [...words];
  const kilobytes = String(
    Math.ceil((own + MAPPED_PER_RESIDENT * bytes + availableParallelism() * THREAD_BYTES) / KIB),
  );
  const script = `ulimit -d "$0" 2>/dev/null; { echo ${FIRST_TO_END} >/proc/self/oom_score_adj; } 2>/dev/null; exec "$@"`;
  return ['/bin/sh', '-c', script, kilobytes, ...words];
}
