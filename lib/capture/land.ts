/**
 * From the inbox to the lake: requests that were acknowledged become events and changes of persons. Landing the same
 * requests again adds nothing, so a segment is removed only after all of it is in the lake.
 */
import { filesSince } from '../lake/catalog.ts';
import { adding } from '../lake/import/adding.ts';
import { ofModel } from '../lake/import/batch-writer.ts';
import type { SameEvents } from '../lake/import/staging.ts';
import type { UuidLists } from '../lake/import/uuid-lists.ts';
import { adderUnder, ImportUnderWay, type Lease, underLease, type Writing } from '../lake/lease.ts';
import type { RefusedChanges } from '../lake/persons/refusals.ts';
import { ProjectGone } from '../lake/publish.ts';
import { messageOf } from '../ports/errors.ts';
import type { CapturedRequest, Inbox } from '../ports/inbox/inbox.ts';
import { DAY_MS, HOUR_MS } from '../ports/units.ts';
import { eventsIn } from './content.ts';
import type { CapturedEvent, EventRefusal } from './normalize.ts';

/** A segment of the inbox, and which projects of it have landed, or are not to land yet. */
export interface LandingSegment {
  readonly name: string;
  readonly landed: readonly number[];
  /** The projects that wait in an older segment which is not landed now: what came first lands first. Default: none. */
  readonly held?: readonly number[];
}

/** What became of the requests of one project. */
interface ProjectLanding {
  readonly projectId: number;
  /** Events that are new in the lake. */
  readonly landed: number;
  /** Events that were there, or came twice. */
  readonly known: number;
  /** Of all: events that had happened over an hour before they came. */
  readonly late: number;
  readonly refused: Readonly<Partial<Record<EventRefusal, number>>>;
  /** Changes of persons that were not made, of events that have landed. */
  readonly refusedChanges: RefusedChanges;
  /** From the arrival of the oldest request to its landing, in milliseconds. */
  readonly delayMs: number;
}

export interface LandingReport {
  readonly segments: readonly {
    readonly name: string;
    /** The projects that have landed, those from before included. */
    readonly landed: readonly number[];
    /** The projects whose requests must wait: an import holds them, or older requests of theirs wait. */
    readonly waiting: readonly number[];
    readonly damaged: number;
    readonly unfinished: number;
  }[];
  readonly projects: readonly ProjectLanding[];
  /** Projects that could not land for another reason, which wait too. */
  readonly failures: readonly {
    readonly projectId: number;
    readonly reason: string;
    /** From the arrival of its oldest request to now, in milliseconds. */
    readonly delayMs: number;
  }[];
}

interface LandingOptions {
  /** What the landings before this one knew of the files of the lake. Default: nothing. */
  readonly lists?: UuidLists;
}

type Landing = Writing & { readonly inbox: Pick<Inbox, 'read'> };

/**
 * An attempt to send an event again carries its uuid, name and distinct_id; its corrected timestamp moves by how long the
 * sender waited.
 */
const SAME_CAPTURED: SameEvents = { columns: ['uuid', 'event', 'distinct_id'], withinMs: DAY_MS };

/**
 * Events of an attempt that was the first arrived within so long before the next one came. SDKs that keep what they have
 * not sent, as those of phones do, may come again later still: to look for it would take the lists of all days between.
 */
const ATTEMPTS_MS = 2 * DAY_MS;

/** An event that happened longer before it came is late: it has missed reports of its hour. */
const LATE_MS = HOUR_MS;

/** As many rows are held in memory before they go to the disk. */
const EVENTS_AT_ONCE = 1_000;

/** Lands the requests of segments, each project by itself: what fails for one is told, and keeps no other from landing. */
export async function land(
  context: Landing,
  segments: readonly LandingSegment[],
  options: LandingOptions = {},
): Promise<LandingReport> {
  const contents = await Promise.all(segments.map(async ({ name }) => context.inbox.read(name)));
  const byProject = new Map<number, CapturedRequest[]>();
  for (const [n, { requests }] of contents.entries()) {
    const passedOver = new Set([...(segments[n]?.landed ?? []), ...(segments[n]?.held ?? [])]);
    for (const request of requests) {
      if (passedOver.has(request.projectId)) continue;
      const found = byProject.get(request.projectId);
      if (found === undefined) byProject.set(request.projectId, [request]);
      else found.push(request);
    }
  }
  const projects: ProjectLanding[] = [];
  const waiting = new Set<number>();
  const failures: LandingReport['failures'][number][] = [];
  for (const [projectId, requests] of byProject) {
    try {
      projects.push(await landProject(context, projectId, requests, options));
    } catch (error) {
      waiting.add(projectId);
      if (!(error instanceof ImportUnderWay))
        failures.push({ projectId, reason: messageOf(error), delayMs: delayOf(context, requests) });
    }
  }
  return {
    projects,
    failures,
    segments: segments.map(({ name, landed, held = [] }, n) => {
      const { requests = [], damaged = 0, unfinished = 0 } = contents[n] ?? {};
      const all = [...new Set([...landed, ...requests.map(({ projectId }) => projectId)])];
      const waits = all.filter((id) => !landed.includes(id) && (waiting.has(id) || held.includes(id)));
      return {
        name,
        landed: all.filter((id) => !waits.includes(id)),
        waiting: waits,
        damaged,
        unfinished,
      };
    }),
  };
}

async function landProject(
  context: Landing,
  projectId: number,
  requests: readonly CapturedRequest[],
  { lists }: LandingOptions,
): Promise<ProjectLanding> {
  const refused: Partial<Record<EventRefusal, number>> = {};
  const refuse = (reason: EventRefusal): void => void (refused[reason] = (refused[reason] ?? 0) + 1);
  let late = 0;
  const landing = (counts: Pick<ProjectLanding, 'landed' | 'known' | 'refusedChanges'>): ProjectLanding => ({
    projectId,
    ...counts,
    late,
    refused,
    delayMs: delayOf(context, requests),
  });
  const work = async (lease: Lease): Promise<ProjectLanding> => {
    // By when they came, not by now: they may have landed then, as of a segment that could not be forgotten.
    const since = oldestOf(context, requests) - ATTEMPTS_MS;
    const before = () => filesSince(context.table, projectId, 'events', since);
    const options = { before, arrived: 'now', same: SAME_CAPTURED, lists } as const;
    return adding(context, adderUnder(lease), options, async (batches) => {
      for (const request of requests) {
        let events = 0;
        for (const event of eventsOf(request, refuse)) {
          if (event.timestamp < (request.receivedAt - LATE_MS) * 1000) late += 1;
          if (!batches.add({ ...event, own: true, file: 0 })) refuse('event_too_big');
          events += 1;
          if (events % EVENTS_AT_ONCE === 0) await batches.pass();
        }
        await batches.pass();
      }
      const { published, known, refused: refusedChanges } = await batches.end();
      const landed = ofModel(published, 'events').reduce((rows, file) => rows + file.rows, 0);
      return landing({ landed, known, refusedChanges });
    });
  };
  try {
    return await underLease(context, projectId, work, { purpose: 'landing' });
  } catch (error) {
    // Its project was deleted, and its events with it.
    if (error instanceof ProjectGone) return landing({ landed: 0, known: 0, refusedChanges: {} });
    throw error;
  }
}

/** Returns when the oldest request came, in milliseconds since 1970, or now if by a clock that was set back all come later. */
const oldestOf = ({ clock }: Pick<Landing, 'clock'>, requests: readonly CapturedRequest[]): number =>
  requests.reduce((least, { receivedAt }) => Math.min(least, receivedAt), clock());

/** Returns the time from the arrival of the oldest request to now, in milliseconds. */
const delayOf = (context: Pick<Landing, 'clock'>, requests: readonly CapturedRequest[]): number =>
  context.clock() - oldestOf(context, requests);

/** The events of a request that was found readable when it was accepted. */
function* eventsOf(request: CapturedRequest, refuse: (reason: EventRefusal) => void): Generator<CapturedEvent> {
  const read = eventsIn({ ...request, body: Buffer.from(request.body) });
  if ('status' in read) throw new Error(`request ${request.id} was accepted and cannot be read: ${read.detail}`);
  for (const one of read.events) {
    if ('captured' in one) yield one.captured;
    else refuse(one.refused.reason);
  }
}
