/**
 * From the inbox to the lake: requests that were acknowledged become events and changes of persons. Landing the same
 * requests again adds nothing, so a segment is removed only after all of it is in the lake.
 */

import { noteEvents } from '../accounts/organizations/projects/store.ts';
import { messageOf } from '../basics/text.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../basics/units.ts';
import { isOfValues, isOutOfMemory } from '../duckdb/failures.ts';
import { filesSince } from '../lake/catalog.ts';
import { adding, ofModel } from '../lake/import/batch-writer.ts';
import type { SameEvents } from '../lake/import/staging.ts';
import type { UuidLists } from '../lake/import/uuid-lists.ts';
import {
  adderUnder,
  ImportUnderWay,
  type LakeWriter,
  type Lease,
  type LeasePurpose,
  underLease,
} from '../lake/lease.ts';
import type { RefusedChanges } from '../lake/persons/refusals.ts';
import { ProjectGone } from '../lake/publish.ts';
import { inWords } from '../ports/disk-failures.ts';
import { type CapturedRequest, type Inbox, type SegmentContent, SegmentUnreadable } from '../ports/inbox/inbox.ts';
import { keys } from '../ports/table/keys.ts';
import { lineOf } from '../workers/turns.ts';
import { type EventWarnings, eventsIn } from './content.ts';
import { type LandingDeaths, landingDeaths } from './landing-deaths.ts';
import { LandingTurns } from './landing-turns.ts';
import type { CapturedEvent, EventRefusal, EventWarning } from './normalize.ts';

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
  /** Of all that landed or were known: events of which something is not as it was meant. */
  readonly warned: EventWarnings;
  /** Changes of persons that were not made, of events that have landed. */
  readonly refusedChanges: RefusedChanges;
  /** From the arrival of the oldest request to its landing, in milliseconds. */
  readonly delayMs: number;
}

/** Requests of a project in one segment that are set apart, for they took down what landed them, or could not land. */
interface SetApart {
  readonly projectId: number;
  /** How often. */
  readonly times: number;
  /** Why they could not land now; undefined: they were not tried. */
  readonly reason?: string | undefined;
  /** From the arrival of the oldest of them to now, in milliseconds. */
  readonly delayMs: number;
}

export interface LandingReport {
  readonly segments: readonly {
    readonly name: string;
    /** The projects that have landed, those from before included. */
    readonly landed: readonly number[];
    /** The projects whose requests must wait: an import holds them, older requests of theirs wait, or they had no turn. */
    readonly waiting: readonly number[];
    /** The projects whose requests are to be tried later, as they cannot land. Nothing waits for these. */
    readonly apart: readonly SetApart[];
    readonly damaged: number;
    readonly unfinished: number;
    /** Why it cannot be read now; undefined: it was. Whose requests it has, is not known, so nothing waits for it. */
    readonly unreadable?: string | undefined;
  }[];
  readonly projects: readonly ProjectLanding[];
  /** Projects that could not land for another reason, which wait too. */
  readonly failures: readonly {
    readonly projectId: number;
    readonly reason: string;
    /** From the arrival of its oldest request to now, in milliseconds. */
    readonly delayMs: number;
  }[];
  /** Projects that had no turn, or not all of theirs, before the time of the pass was over. */
  readonly left: readonly number[];
}

interface LandingOptions {
  /** What the landings before this one knew of the files of the lake. Default: nothing. */
  readonly lists?: UuidLists | undefined;
  /** Whose turn it was in the landings before this one. Default: nobody's. */
  readonly turns?: LandingTurns;
  /** Which service this landing is for, if that goes on when a landing dies. Default: it does not. */
  readonly service?: string | undefined;
}

type Landing = LakeWriter & { readonly inbox: Pick<Inbox, 'read'> };

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

/**
 * Nothing is begun so long after a landing has begun, and of what may have taken down an earlier one so long after that has
 * begun; of so many projects at most something lands. What comes meanwhile waits for its end, and what it did is told with it.
 */
const PASS_MS = 5 * SECOND_MS;
const PASS_PROJECTS = 500;

/** Segments that are read at the same time: fewer than an S3 client has connections (50), for which it waits but 3 s. */
const READ_AT_ONCE = 40;

/** As many rows are held in memory before they go to the disk. */
const EVENTS_AT_ONCE = 1_000;

/** The requests of a project in one segment. */
interface Part {
  readonly projectId: number;
  readonly segment: string;
  readonly requests: readonly CapturedRequest[];
}

/** A project whose turn comes in a pass, with what waits of it. */
interface Turn {
  readonly projectId: number;
  readonly parts: readonly Part[];
  readonly deaths: LandingDeaths;
}

/** A part that may have taken down an earlier landing, or may be what cannot land. */
interface Suspect extends Part {
  readonly deaths: LandingDeaths;
}

/** Suspects that are set apart, and why those of them could not land that were tried. */
type Apart = ReadonlyMap<Suspect, { readonly reason?: string }>;

/** What became of an attempt to land something. */
interface Attempt {
  /** Nothing is while an import has the project. */
  readonly isBegun: boolean;
  /** What was to land is, or may be, why it could not; nobody was told. */
  readonly suspected?: string;
}

/** One pass, and what has become of it so far. */
interface Pass {
  readonly context: Landing;
  readonly lists: UuidLists | undefined;
  readonly turns: LandingTurns;
  readonly projects: ProjectLanding[];
  readonly landed: Part[];
  readonly failures: LandingReport['failures'][number][];
  /** Projects that could not land. */
  readonly waiting: Set<number>;
  /** Projects that had no turn, or not all of theirs. */
  readonly left: Set<number>;
}

/** Who landed the project before has died: what is left of it is tried part by part. */
class LandingDied extends Error {
  override readonly name = 'LandingDied';
}

/** A request was accepted, and nobody can read it. */
class UnreadableRequest extends Error {
  override readonly name = 'UnreadableRequest';
}

/** Whether something could not land for what it is, which no time mends: its project is not to wait for it. */
const isOfWhatLands = (error: unknown): boolean =>
  error instanceof LandingDied || error instanceof UnreadableRequest || isOutOfMemory(error) || isOfValues(error);

/**
 * Lands the requests of segments, each project by itself: what fails for one is told, and keeps no other from landing.
 * What may have taken down an earlier landing comes last, and what did so again and again, or could not be landed for what it
 * is, is set apart: only that may land after what came later. Those who have no turn in the time of one pass are left to the next.
 */
export async function land(
  context: Landing,
  segments: readonly LandingSegment[],
  { lists, turns = new LandingTurns(), service }: LandingOptions = {},
): Promise<LandingReport> {
  const until = context.clock() + PASS_MS;
  const inLine = lineOf(READ_AT_ONCE);
  const contents = await Promise.all(segments.map(({ name }) => inLine(() => contentOf(context.inbox, name))));
  const parts = segments.flatMap((segment, n) => partsOf(segment, contents[n]?.requests ?? []));
  const byProject = Map.groupBy(parts, ({ projectId }) => projectId);
  const left = new Set(byProject.keys());
  const pass: Pass = { context, lists, turns, projects: [], landed: [], failures: [], waiting: new Set(), left };
  const inTurn = await turnsOf(pass, byProject, service);
  await landInTurn(pass, inTurn, until);
  const apart = await landSuspects(pass, suspectsIn(inTurn.filter(({ projectId }) => !left.has(projectId))));
  const read = segments.map((segment, n) => ({ ...segment, content: contents[n] }));
  return reportOf(pass, read, apart);
}

/** What is known of a segment after it was read; `unreadable`: why it was not. */
type Content = SegmentContent & { readonly unreadable?: string };

/** Reads a segment. One that cannot be read keeps no other from landing. */
async function contentOf(inbox: Landing['inbox'], segment: string): Promise<Content> {
  try {
    return await inbox.read(segment);
  } catch (error) {
    if (!(error instanceof SegmentUnreadable)) throw error;
    return { requests: [], damaged: 0, unfinished: 0, unreadable: error.message };
  }
}

/** Returns whose turn comes in a pass, in the order of the turns. */
async function turnsOf(
  { context, turns }: Pass,
  byProject: ReadonlyMap<number, readonly Part[]>,
  service: string | undefined,
): Promise<Turn[]> {
  const since = (of: readonly Part[]): number => Math.min(...of.map(({ requests }) => oldestOf(context, requests)));
  const waiting = [...byProject].map(([projectId, of]) => ({ projectId, since: since(of) }));
  const inTurn = await landingDeaths(context, await turns.first(context, waiting, PASS_PROJECTS), service);
  return inTurn.map((turn) => ({ ...turn, parts: byProject.get(turn.projectId) ?? [] }));
}

/** Lands of each project in turn what is no suspect, as long as there is time: one has its turn in any case. */
async function landInTurn(pass: Pass, inTurn: readonly Turn[], until: number): Promise<void> {
  let isBegun = false;
  for (const { projectId, parts, deaths } of inTurn) {
    // However long it took to read what waits.
    if (isBegun && pass.context.clock() >= until) break;
    pass.left.delete(projectId);
    pass.turns.take(projectId);
    const good = parts.filter(({ segment }) => !deaths.isSuspect(segment));
    if (good.length === 0) continue;
    isBegun = true;
    const { suspected } = await tryToLand(pass, projectId, good, async (leftBy) => {
      if (leftBy === 'landing') throw new LandingDied();
    });
    // Which part it is, is not known: each is tried by itself.
    if (suspected !== undefined) deaths.open();
  }
}

const suspectsIn = (turns: readonly Turn[]): Suspect[] =>
  turns.flatMap(({ parts, deaths }) =>
    parts.filter(({ segment }) => deaths.isSuspect(segment)).map((part) => ({ ...part, deaths })),
  );

/**
 * Lands suspects part by part, those last that have failed most; returns those that are set apart. They have a time of
 * their own, or they would fall behind for as long as others take all of it: one is tried in any case.
 */
async function landSuspects(pass: Pass, suspects: readonly Suspect[]): Promise<Apart> {
  const { context, waiting, left } = pass;
  const until = context.clock() + PASS_MS;
  const apart = new Map<Suspect, { readonly reason?: string }>();
  for (const suspect of suspects) if (suspect.deaths.isApart(suspect.segment)) apart.set(suspect, {});
  const timesApart = ({ deaths, segment }: Suspect): number => (deaths.wasApart(segment) ? deaths.timesOf(segment) : 0);
  let isBegun = false;
  for (const suspect of suspects.toSorted((one, other) => timesApart(one) - timesApart(other))) {
    const { projectId, segment, deaths, requests } = suspect;
    if (apart.has(suspect) || waiting.has(projectId)) continue;
    if (isBegun && context.clock() >= until) {
      left.add(projectId);
      continue;
    }
    isBegun = true;
    const { isBegun: hasEnded, suspected: reason } = await tryToLand(pass, projectId, [suspect], () =>
      deaths.begin(segment),
    );
    if (reason === undefined) {
      if (hasEnded) deaths.end(segment);
      continue;
    }
    // It counts as an attempt that has not ended. All of its project waits, in its order, until there were enough.
    if (deaths.isApart(segment)) apart.set(suspect, { reason });
    else tellFailure(pass, projectId, requests, reason);
  }
  const deathsOf = new Map(suspects.map(({ projectId, deaths }) => [projectId, deaths]));
  for (const [projectId, deaths] of deathsOf) await deaths.settle(!waiting.has(projectId) && !left.has(projectId));
  return apart;
}

/** Lands parts of a project, or tells why not. */
async function tryToLand(pass: Pass, projectId: number, parts: readonly Part[], begin: Begin): Promise<Attempt> {
  const requests = parts.flatMap((part) => part.requests);
  try {
    pass.projects.push(await landProject(pass, projectId, requests, begin));
    pass.landed.push(...parts);
  } catch (error) {
    const reason = messageOf(inWords(error));
    if (isOfWhatLands(error)) return { isBegun: true, suspected: reason };
    if (error instanceof ImportUnderWay) {
      pass.waiting.add(projectId);
      return { isBegun: false };
    }
    tellFailure(pass, projectId, requests, reason);
  }
  return { isBegun: true };
}

/** All of the project waits. */
function tellFailure(
  { context, waiting, failures }: Pass,
  projectId: number,
  requests: readonly CapturedRequest[],
  reason: string,
): void {
  waiting.add(projectId);
  failures.push({ projectId, reason, delayMs: delayOf(context, requests) });
}

/** Returns what is told after a pass of its segments and their contents. */
function reportOf(
  { context, projects, failures, left, landed }: Pass,
  segments: readonly (LandingSegment & { readonly content: Content | undefined })[],
  apart: Apart,
): LandingReport {
  const landedIn = Map.groupBy(landed, ({ segment }) => segment);
  const apartIn = Map.groupBy(apart, ([{ segment }]) => segment);
  const told = segments.map(({ name, landed: before, content }) => {
    const { requests = [], damaged = 0, unfinished = 0, unreadable } = content ?? {};
    const setApart = apartIn.get(name) ?? [];
    const done = new Set([...before, ...(landedIn.get(name) ?? []).map(({ projectId }) => projectId)]);
    const passedOver = new Set([...done, ...setApart.map(([{ projectId }]) => projectId)]);
    return {
      name,
      landed: [...done],
      waiting: [...new Set(requests.map(({ projectId }) => projectId))].filter((id) => !passedOver.has(id)),
      apart: setApart.map(([{ projectId, deaths, requests: of }, { reason }]) => ({
        projectId,
        times: deaths.timesOf(name),
        reason,
        delayMs: delayOf(context, of),
      })),
      damaged,
      unfinished,
      unreadable,
    };
  });
  return { projects, failures, left: [...left], segments: told };
}

/** What is to be landed of a segment, by project. */
function partsOf({ name, landed, held = [] }: LandingSegment, requests: readonly CapturedRequest[]): Part[] {
  const passedOver = new Set([...landed, ...held]);
  const byProject = Map.groupBy(
    requests.filter(({ projectId }) => !passedOver.has(projectId)),
    ({ projectId }) => projectId,
  );
  return [...byProject].map(([projectId, of]) => ({ projectId, segment: name, requests: of }));
}

/** Called before anything is done, with what for somebody had the lease who died. */
type Begin = (left: LeasePurpose | undefined) => Promise<void>;

async function landProject(
  { context, lists }: Pass,
  projectId: number,
  requests: readonly CapturedRequest[],
  begin: Begin,
): Promise<ProjectLanding> {
  const refused: Partial<Record<EventRefusal, number>> = {};
  const refuse = (reason: EventRefusal): void => void (refused[reason] = (refused[reason] ?? 0) + 1);
  const warned: { -readonly [warning in EventWarning]?: EventWarnings[warning] } = {};
  const warn = (warning: EventWarning, sample: Pick<CapturedEvent, 'event' | 'distinctId'>): void =>
    void (warned[warning] = { events: (warned[warning]?.events ?? 0) + 1, sample });
  let late = 0;
  const landing = (counts: Pick<ProjectLanding, 'landed' | 'known' | 'refusedChanges'>): ProjectLanding => ({
    projectId,
    ...counts,
    late,
    refused,
    warned,
    delayMs: delayOf(context, requests),
  });
  const work = async (lease: Lease, left: LeasePurpose | undefined): Promise<ProjectLanding> => {
    await begin(left);
    // By when they came, not by now: they may have landed then, as of a segment that could not be forgotten.
    const since = oldestOf(context, requests) - ATTEMPTS_MS;
    const before = () => filesSince(context.table, projectId, 'events', since);
    const options = { before, arrived: 'now', same: SAME_CAPTURED, changesInOrderOf: 'rows', lists } as const;
    // By what it says now: that no address is kept holds for what waits, too.
    const project = await context.table.get(keys.project(projectId));
    const { anonymize_ips: isAnonymized = false, ingested_event: isNoted = false } = project ?? {};
    return adding(context, adderUnder(lease), options, async (batches) => {
      for (const request of requests) {
        let events = 0;
        for (const event of eventsOf(request, { isAnonymized, refuse, warn })) {
          if (event.timestamp < (request.receivedAt - LATE_MS) * 1000) late += 1;
          if (!batches.add({ ...event, own: true, file: 0 })) refuse('event_too_big');
          events += 1;
          if (events % EVENTS_AT_ONCE === 0 || batches.isFull) await batches.pass();
        }
        await batches.pass();
      }
      const { published, known, refused: refusedChanges } = await batches.end();
      const landed = ofModel(published, 'events').reduce((rows, file) => rows + file.rows, 0);
      if (!isNoted && landed + known > 0) await noteEvents(context, projectId);
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

/** How events are read, and what is told of them meanwhile. */
interface Reading {
  /** They have no address. */
  readonly isAnonymized: boolean;
  readonly refuse: (reason: EventRefusal) => void;
  readonly warn: (warning: EventWarning, sample: Pick<CapturedEvent, 'event' | 'distinctId'>) => void;
}

/** The events of a request that was found readable when it was accepted. */
function* eventsOf(request: CapturedRequest, { isAnonymized, refuse, warn }: Reading): Generator<CapturedEvent> {
  const read = eventsIn({ ...request, body: Buffer.from(request.body) }, isAnonymized);
  if ('status' in read)
    throw new UnreadableRequest(`request ${request.id} was accepted and cannot be read: ${read.detail}`);
  for (const one of read) {
    if ('refused' in one) {
      refuse(one.refused.reason);
      continue;
    }
    const { event, distinctId } = one.captured;
    for (const warning of one.warnings) warn(warning, { event, distinctId });
    yield one.captured;
  }
}
