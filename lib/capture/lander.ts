/** Lands what waits in an inbox, pass by pass, and forgets what is in the lake. */

import { wasLately } from '../basics/lately.ts';
import { MIB, MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import type { Inbox, Segment } from '../ports/inbox/inbox.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics } from '../ports/metrics/metrics.ts';
import type { CaptureCounts } from './counts.ts';
import type { LandingReport, LandingSegment } from './land.ts';

/**
 * So many bytes of requests land in one pass, unless a single segment has more: 18,000 events of 1 kB as SDKs pack them. To
 * land 15,000 takes 320 MB, 30,000 take 420, and 60,000 600; the time of an event is the same.
 */
const PASS_BYTES = 5 * MIB;
/** So many segments at most: on AWS each request that the delivery stream did not take is one, and read by itself. */
const PASS_SEGMENTS = 1_000;

interface LanderOptions {
  readonly inbox: Inbox;
  /** Lands segments: `land`, here or in another process. */
  readonly land: (segments: readonly LandingSegment[]) => Promise<LandingReport>;
  readonly log: Log;
  readonly clock: () => number;
  readonly metrics: Metrics;
  readonly counts: Pick<CaptureCounts, 'add' | 'warn' | 'refuseChanges'>;
}

/** What is set apart is looked at so often, and told each time: an alarm of five minutes does not end meanwhile. */
const APART_LOOK_MS = 4 * MINUTE_MS;

/**
 * A project that cannot land, or a segment that cannot be read, is tried again after so long, twice as long each time; an
 * alarm of five minutes does not end.
 */
const FAILED_MS = { first: SECOND_MS, most: 4 * MINUTE_MS };
const pauseAfter = (times: number): number => Math.min(FAILED_MS.most, FAILED_MS.first * 2 ** times);

/**
 * What was listed is believed for so long, as long as a pass leaves some of it to the next: on AWS to list takes a request
 * for a thousand segments, and very many may wait.
 */
const LIST_MS = 30 * SECOND_MS;

/** A segment of which some projects wait, and others have landed. */
interface Waiting {
  readonly landed: readonly number[];
  readonly waiting: readonly number[];
  /** Projects of which something is set apart. */
  readonly apart: readonly number[];
  /** When what of it is set apart, or all of it if it cannot be read, is looked at again, milliseconds since 1970; null: nothing is. */
  readonly apartUntil: number | null;
  /** How often in a row it could not be read. */
  readonly unread: number;
  /** The pass in which it was tried last. */
  readonly pass: number;
}

/** The segments that were listed at an instant and are still there, oldest first. */
interface Listed {
  readonly segments: readonly Segment[];
  readonly at: number;
}

/** One at a time has an inbox. */
export class Lander {
  readonly #options: LanderOptions;
  /** Segments that were tried and have to wait. What is forgotten by a restart lands again, to no effect. */
  readonly #waiting = new Map<string, Waiting>();
  /** Projects that could not land, how often in a row, and when they are tried again, milliseconds since 1970. */
  readonly #failed = new Map<number, { readonly times: number; readonly until: number }>();
  #listed: Listed = { segments: [], at: 0 };
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
   * something has landed, or which had no turn. Others wait for an import, or are set apart.
   */
  get left(): number {
    return this.#left;
  }

  /** The bytes of what was in the inbox when the last pass began, as far as it was listed by then. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Lands once. Returns how many events are new in the lake. */
  async pass(): Promise<number> {
    this.#passes += 1;
    const { segments: listed, at } = await this.#list();
    // Should the pass fail, the next one looks what is there.
    this.#listed = { segments: [], at };
    this.#waitingBytes = bytesOf(listed);
    const { segments, left } = this.#next(listed);
    this.#left = left;
    if (segments.length === 0) return 0;
    const report = await this.#options.land(segments);
    const gone = await this.#noteSegments(report, listed);
    this.#listed = { segments: listed.filter(({ name }) => !gone.has(name)), at };
    this.#noteFailures(report);
    this.#noteLanded(report);
    this.#left += this.#leftAfter(report);
    return report.projects.reduce((sum, { landed }) => sum + landed, 0);
  }

  /** Keeps what segments wait for, and removes those that have landed, or sets them aside. Returns which are gone so. */
  async #noteSegments({ segments }: LandingReport, listed: readonly Segment[]): Promise<ReadonlySet<string>> {
    const { inbox, log, metrics } = this.#options;
    const landedWhole: string[] = [];
    const setAside: string[] = [];
    for (const segment of segments) {
      const { name, damaged, unfinished } = segment;
      if (segment.unreadable !== undefined) {
        this.#noteUnreadable(segment, listed);
        continue;
      }
      if (unfinished > 0) log.info('a write of captured events was cut short', { segment: name, bytes: unfinished });
      if (this.#noteWaiting(segment)) continue;
      if (damaged === 0) {
        landedWhole.push(name);
        continue;
      }
      log.error('captured events are damaged', { segment: name, bytes: damaged });
      await inbox.setAside(name);
      setAside.push(name);
      metrics.record({ SegmentsDamaged: 1 }, { segment: name });
    }
    await inbox.remove(landedWhole);
    return new Set([...landedWhole, ...setAside]);
  }

  /** Has a segment that cannot be read pause, and tells of it. */
  #noteUnreadable(
    { name, landed, unreadable: reason }: LandingReport['segments'][number],
    listed: readonly Segment[],
  ): void {
    const { log, clock, metrics } = this.#options;
    const { unread = 0 } = this.#waiting.get(name) ?? {};
    const apartUntil = clock() + pauseAfter(unread);
    this.#waiting.set(name, { landed, waiting: [], apart: [], apartUntil, unread: unread + 1, pass: this.#passes });
    log.error('a segment of captured events cannot be read', { segment: name, reason });
    if (unread === 0) metrics.record({ SegmentsDamaged: 1 }, { segment: name });
    const { writtenAt = clock() } = listed.find((segment) => segment.name === name) ?? {};
    metrics.record({ LandingDelay: Math.max(0, clock() - writtenAt) / SECOND_MS });
  }

  /** Returns whether something of a segment waits, or is set apart, which is kept. */
  #noteWaiting({ name, landed, waiting, apart }: LandingReport['segments'][number]): boolean {
    const { log, clock, metrics } = this.#options;
    for (const { projectId, times, reason, delayMs } of apart) {
      const about = { segment: name, project: projectId, times, reason };
      log.error('captured events cannot land again and again; they are set apart', about);
      metrics.record({ LandingDelay: delayMs / SECOND_MS });
    }
    if (waiting.length === 0 && apart.length === 0) {
      this.#waiting.delete(name);
      return false;
    }
    const apartUntil = apart.length > 0 ? clock() + APART_LOOK_MS : null;
    const apartIds = apart.map(({ projectId }) => projectId);
    this.#waiting.set(name, { landed, waiting, apart: apartIds, apartUntil, unread: 0, pass: this.#passes });
    return true;
  }

  /** Has projects that could not land pause. */
  #noteFailures({ failures }: LandingReport): void {
    const { log, clock, metrics } = this.#options;
    for (const { projectId, reason, delayMs } of failures) {
      const { times = 0 } = this.#failed.get(projectId) ?? {};
      this.#failed.set(projectId, { times: times + 1, until: clock() + pauseAfter(times) });
      log.error('captured events could not land', { project: projectId, reason });
      metrics.record({ LandingDelay: delayMs / SECOND_MS });
    }
  }

  /** Tells what has landed. A project of which all has that was tried pauses no longer. */
  #noteLanded({ projects, failures }: LandingReport): void {
    const { log, metrics, counts } = this.#options;
    const failed = new Set(failures.map(({ projectId }) => projectId));
    for (const { projectId, landed, known, late, refused, warned, refusedChanges, delayMs } of projects) {
      log.info('captured events landed', { project: projectId, landed, known, refused, delay_ms: delayMs });
      metrics.record({ EventsLanded: landed, EventsKnown: known, LandingDelay: delayMs / SECOND_MS });
      counts.add(projectId, { landed, known, late, delayMs });
      counts.warn(projectId, warned);
      counts.refuseChanges(projectId, refusedChanges);
      if (!failed.has(projectId)) this.#failed.delete(projectId);
    }
  }

  /** How many segments wait for a project that the next pass can land more of. */
  #leftAfter({ projects, left }: LandingReport): number {
    const free = new Set([...projects.map(({ projectId }) => projectId), ...left]);
    return [...this.#waiting.values()].filter(({ waiting }) => waiting.some((id) => free.has(id))).length;
  }

  /** Returns what is there: as it was listed before, where that is new and this pass cannot take all that is fresh of it. */
  async #list(): Promise<Listed> {
    const { inbox, clock } = this.#options;
    const fresh = this.#listed.segments.filter(({ name }) => !this.#waiting.has(name));
    const isEnough = fresh.length > PASS_SEGMENTS || (fresh.length > 1 && bytesOf(fresh) > PASS_BYTES);
    if (isEnough && wasLately(this.#listed.at, clock(), LIST_MS)) return this.#listed;
    const segments = await inbox.segments();
    return { segments, at: clock() };
  }

  /** Returns what a pass takes of what is there, and how many segments that are new it leaves. */
  #next(segments: readonly Segment[]): { readonly segments: LandingSegment[]; readonly left: number } {
    const fresh = segments.filter(({ name }) => !this.#waiting.has(name));
    const waiting = this.#inTurn(segments.filter(({ name }) => this.#isTime(name)));
    // What waits comes last, so that nobody waits for it, and every other time first, so that it is tried whatever comes.
    const isTurnOfWaiting = this.#isTurnOfWaiting && waiting.length > 0;
    this.#isTurnOfWaiting = !isTurnOfWaiting && waiting.length > 0;
    let bytes = 0;
    const taken = new Set<Segment>();
    const takes = (segment: Segment): boolean => {
      if (taken.size > 0 && bytes + segment.bytes > PASS_BYTES) return false;
      if (taken.size >= PASS_SEGMENTS) return false;
      bytes += segment.bytes;
      taken.add(segment);
      return true;
    };
    if (isTurnOfWaiting) waiting.forEach(takes);
    // In the order in which they were begun, and none before an older one.
    fresh.every(takes);
    if (!isTurnOfWaiting) waiting.forEach(takes);
    const left = fresh.filter((segment) => !taken.has(segment)).length;
    return { segments: this.#inOrder(segments, taken), left };
  }

  #isPaused(projectId: number): boolean {
    return (this.#failed.get(projectId)?.until ?? 0) > this.#options.clock();
  }

  /** Whether a segment waits, and something of it may be tried now. */
  #isTime(segment: string): boolean {
    const { waiting = [], apartUntil = null } = this.#waiting.get(segment) ?? {};
    return waiting.some((id) => !this.#isPaused(id)) || (apartUntil !== null && apartUntil <= this.#options.clock());
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
    const held = new Set([...this.#failed.keys()].filter((id) => this.#isPaused(id)));
    const inOrder: LandingSegment[] = [];
    for (const segment of segments) {
      const tried = this.#waiting.get(segment.name);
      const { landed, waiting, apart } = tried ?? { landed: [], waiting: [], apart: [] };
      // Of one that was read it is known whose requests it has; of all that are held there may be thousands.
      const isRead = tried !== undefined && tried.unread === 0;
      const heldOf = () => (isRead ? [...waiting, ...apart].filter((id) => held.has(id)) : [...held]);
      if (taken.has(segment)) inOrder.push({ name: segment.name, landed, held: heldOf() });
      // What is set apart keeps nothing from landing.
      else for (const id of waiting) held.add(id);
    }
    return inOrder;
  }
}

const bytesOf = (segments: readonly Segment[]): number => segments.reduce((sum, { bytes }) => sum + bytes, 0);
