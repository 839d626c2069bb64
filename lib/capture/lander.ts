/** Lands what waits in an inbox, pass by pass, and forgets what is in the lake. */
import type { Inbox, Segment } from '../ports/inbox/inbox.ts';
import type { Log } from '../ports/log.ts';
import type { LandingReport, LandingSegment } from './land.ts';

/** So many bytes of requests land in one pass, unless a single segment has more. */
const PASS_BYTES = 64 * 1024 * 1024;

interface LanderOptions {
  readonly inbox: Inbox;
  /** Lands segments: `land`, here or in another process. */
  readonly land: (segments: readonly LandingSegment[]) => Promise<LandingReport>;
  readonly log: Log;
}

/** One at a time has an inbox. */
export class Lander {
  readonly #options: LanderOptions;
  /** Projects of a segment that have landed, where others wait. What is forgotten by a restart lands again, to no effect. */
  readonly #landed = new Map<string, readonly number[]>();

  constructor(options: LanderOptions) {
    this.#options = options;
  }

  /** Lands once. Returns how many events are new in the lake. */
  async pass(): Promise<number> {
    const { inbox, land, log } = this.#options;
    const segments = await this.#next();
    if (segments.length === 0) return 0;
    const report = await land(segments);
    for (const { name, landed, waiting, damaged, unfinished } of report.segments) {
      if (unfinished > 0) log.info('a write of captured events was cut short', { segment: name, bytes: unfinished });
      if (waiting.length > 0) {
        this.#landed.set(name, landed);
        continue;
      }
      this.#landed.delete(name);
      if (damaged === 0) {
        await inbox.remove(name);
        continue;
      }
      log.error('captured events are damaged', { segment: name, bytes: damaged });
      await inbox.setAside(name);
    }
    for (const { projectId, landed, known, refused, delayMs } of report.projects)
      log.info('captured events landed', { project: projectId, landed, known, refused, delay_ms: delayMs });
    return report.projects.reduce((sum, { landed }) => sum + landed, 0);
  }

  async #next(): Promise<LandingSegment[]> {
    let bytes = 0;
    const taken: LandingSegment[] = [];
    const segments = await this.#options.inbox.segments();
    // What waits for an import comes last, so that nobody waits for it.
    const isNew = ({ name }: Segment): boolean => !this.#landed.has(name);
    for (const segment of [...segments.filter(isNew), ...segments.filter((one) => !isNew(one))]) {
      bytes += segment.bytes;
      if (taken.length > 0 && bytes > PASS_BYTES) break;
      taken.push({ name: segment.name, landed: this.#landed.get(segment.name) ?? [] });
    }
    return taken;
  }
}
