/** Lands what waits in an inbox, pass by pass, and forgets what is in the lake. */
import type { Inbox, Segment } from '../ports/inbox/inbox.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics/metrics.ts';
import { Semaphore } from '../ports/semaphore.ts';
import { MIB, MINUTE_MS, SECOND_MS } from '../ports/units.ts';
import { WorkerLost } from '../workers/pool.ts';
import type { CaptureCounts } from './counts.ts';
import type { LandingReport, LandingSegment } from './land.ts';

/**
 * So many bytes of requests land in one pass, unless a single segment has more: 18,000 events of 1 kB as SDKs pack them. To
 * land 15,000 takes 320 MB, 30,000 take 420, and 60,000 600; the time of an event is the same.
 */
const PASS_BYTES = 5 * MIB;

interface LanderOptions {
  readonly inbox: Inbox;
  /** Lands segments: `land`, here or in another process. */
  readonly land: (segments: readonly LandingSegment[]) => Promise<LandingReport>;
  readonly log: Log;
  readonly clock: () => number;
  readonly metrics: Metrics;
  readonly counts: Pick<CaptureCounts, 'add' | 'refuseChanges'>;
}

/**
 * Segments that are forgotten at the same time. On AWS each request that the delivery stream did not take is one, and to
 * remove an object takes three round trips.
 */
const REMOVED_AT_ONCE = 40;

/** A segment that has taken its process down is tried again after so long, by itself. */
const APART_MS = 5 * MINUTE_MS;

/** A segment of which some projects wait, and others have landed. */
interface Waiting {
  readonly landed: readonly number[];
  readonly waiting: readonly number[];
  /** The pass in which it was tried last. */
  readonly pass: number;
}

/** One at a time has an inbox. */
export class Lander {
  readonly #options: LanderOptions;
  /** Segments that were being landed when the process died, with when each is tried again, by itself: others must land. */
  readonly #apart = new Map<string, number>();
  /** Segments that were tried and have to wait. What is forgotten by a restart lands again, to no effect. */
  readonly #waiting = new Map<string, Waiting>();
  #passes = 0;
  /** The next pass begins with segments that wait. */
  #isTurnOfWaiting = false;
  #left = 0;
  #waitingBytes = 0;

  constructor(options: LanderOptions) {
    this.#options = options;
  }

  /**
   * How many segments the last pass has left to the next: those that are new, and those that wait for a project of which
   * something has landed. Others wait for an import, or lie apart.
   */
  get left(): number {
    return this.#left;
  }

  /** The bytes of what was in the inbox when the last pass began. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Lands once. Returns how many events are new in the lake. */
  async pass(): Promise<number> {
    const { inbox, land, log, metrics, counts } = this.#options;
    this.#passes += 1;
    const segments = await this.#next();
    if (segments.length === 0) return 0;
    const report = await land(segments).catch((error: unknown) => {
      if (error instanceof WorkerLost) this.#setApart(segments);
      throw error;
    });
    const landedWhole: string[] = [];
    for (const { name, landed, waiting, damaged, unfinished } of report.segments) {
      this.#apart.delete(name);
      if (unfinished > 0) log.info('a write of captured events was cut short', { segment: name, bytes: unfinished });
      if (waiting.length > 0) {
        this.#waiting.set(name, { landed, waiting, pass: this.#passes });
        continue;
      }
      this.#waiting.delete(name);
      if (damaged === 0) {
        landedWhole.push(name);
        continue;
      }
      log.error('captured events are damaged', { segment: name, bytes: damaged });
      await inbox.setAside(name);
      metrics.record({ SegmentsDamaged: 1 }, { segment: name });
    }
    const line = new Semaphore(REMOVED_AT_ONCE);
    await Promise.all(landedWhole.map((name) => line.run(() => inbox.remove(name))));
    for (const { projectId, reason, delayMs } of report.failures) {
      log.error('captured events could not land', { project: projectId, reason });
      metrics.record({ LandingDelay: delayMs / SECOND_MS });
    }
    for (const { projectId, landed, known, late, refused, refusedChanges, delayMs } of report.projects) {
      log.info('captured events landed', { project: projectId, landed, known, refused, delay_ms: delayMs });
      metrics.record({ EventsLanded: landed, EventsKnown: known, LandingDelay: delayMs / SECOND_MS });
      counts.add(projectId, { landed, known, late, delayMs });
      counts.refuseChanges(projectId, refusedChanges);
    }
    const free = new Set(report.projects.map(({ projectId }) => projectId));
    for (const [name, { waiting }] of this.#waiting)
      if (!this.#apart.has(name) && waiting.some((id) => free.has(id))) this.#left += 1;
    return report.projects.reduce((sum, { landed }) => sum + landed, 0);
  }

  /** Those of several are tried at once, one by one: which of them it was is not known. */
  #setApart(segments: readonly LandingSegment[]): void {
    const { clock, log } = this.#options;
    for (const { name } of segments) this.#apart.set(name, segments.length === 1 ? clock() + APART_MS : 0);
    if (segments.length === 1)
      log.error('captured events take down what lands them; they are tried again', { segment: segments[0]?.name });
  }

  async #next(): Promise<LandingSegment[]> {
    const segments = await this.#options.inbox.segments();
    this.#waitingBytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
    const now = this.#options.clock();
    this.#left = 0;
    const alone = segments.find(({ name }) => (this.#apart.get(name) ?? Number.POSITIVE_INFINITY) <= now);
    if (alone !== undefined) return this.#inOrder(segments, new Set([alone]));
    const together = segments.filter(({ name }) => !this.#apart.has(name));
    const fresh = together.filter(({ name }) => !this.#waiting.has(name));
    const waiting = this.#inTurn(together.filter(({ name }) => this.#waiting.has(name)));
    // What waits comes last, so that nobody waits for it, and every other time first, so that it is tried whatever comes.
    const isTurnOfWaiting = this.#isTurnOfWaiting && waiting.length > 0;
    this.#isTurnOfWaiting = !isTurnOfWaiting && waiting.length > 0;
    let bytes = 0;
    const taken = new Set<Segment>();
    const takes = (segment: Segment): boolean => {
      if (taken.size > 0 && bytes + segment.bytes > PASS_BYTES) return false;
      bytes += segment.bytes;
      taken.add(segment);
      return true;
    };
    if (isTurnOfWaiting) waiting.forEach(takes);
    // In the order in which they were begun, and none before an older one.
    fresh.every(takes);
    if (!isTurnOfWaiting) waiting.forEach(takes);
    this.#left = fresh.filter((segment) => !taken.has(segment)).length;
    return this.#inOrder(segments, taken);
  }

  /**
   * Returns segments that wait in the order in which they are tried: those with the oldest requests of a project come
   * first, of them those that were tried longest ago, so that each project has its turn. The others land after them.
   */
  #inTurn(waiting: readonly Segment[]): Segment[] {
    const projects = new Set<number>();
    const oldest = waiting.filter(({ name }) => {
      const before = projects.size;
      for (const id of this.#waiting.get(name)?.waiting ?? []) projects.add(id);
      return projects.size > before;
    });
    const triedIn = ({ name }: Segment): number => this.#waiting.get(name)?.pass ?? 0;
    return [...new Set([...oldest.toSorted((one, other) => triedIn(one) - triedIn(other)), ...waiting])];
  }

  /** Returns those that are taken, oldest first; none may land what its project has waiting in an older one that is not. */
  #inOrder(segments: readonly Segment[], taken: ReadonlySet<Segment>): LandingSegment[] {
    const held = new Set<number>();
    const inOrder: LandingSegment[] = [];
    for (const segment of segments) {
      const { landed, waiting } = this.#waiting.get(segment.name) ?? { landed: [], waiting: [] };
      if (taken.has(segment)) inOrder.push({ name: segment.name, landed, held: [...held] });
      // What lies apart keeps nothing from landing.
      else if (!this.#apart.has(segment.name)) for (const id of waiting) held.add(id);
    }
    return inOrder;
  }
}
