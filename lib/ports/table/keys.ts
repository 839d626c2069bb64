/**
 * Every key of the table, on one page. Nothing else joins text into a key.
 *
 *   item                       pk            sk                        first index                 second index (keys only)
 *   user / by e-mail           U#uid         USER   | MAIL#email MAIL  user: USERS / created#uid
 *   membership                 U#uid         ORG#oid                   O#oid#MEMBERS / joined#uid
 *   organization / slug        O#oid         ORG    | SLUG#slug SLUG
 *   project                    P#pid         PROJECT                   O#oid#PROJECTS / created#pid
 *   personal API key           KEY#sha256    KEY
 *   invitation                 V#vid         INVITE                    O#oid#INVITES / created#vid
 *   dashboard: summary         D#pid#did     DASH                      P#pid#DASHBOARDS / pinned, name, did  the same
 *   dashboard, deleted         D#pid#did     DASH                      P#pid#DELETED / DASH#deleted#did      the same
 *   dashboard: detail          D#pid#did     DETAIL
 *   tile                       D#pid#did     TILE#tid                                                        of an insight: I#pid#iid / did#tid
 *   collaborator               D#pid#did     WITH#uid                                                        U#uid#WITH / pid#did
 *   access rule                D#pid#did     RULE#target                                                     of a member: U#uid#WITH / pid#did
 *   sharing / its token        D#pid#did     SHARE | T#token TOKEN
 *   insight                    I#pid#iid     INSIGHT                   P#pid#INSIGHTS / created#iid          the same
 *   insight, deleted           I#pid#iid     INSIGHT                   P#pid#DELETED / INSIGHT#deleted#iid   the same
 *   batch export / its plan    E#eid         EXPORT | PLAN             O#oid#EXPORTS / created#eid
 *   batch export, deleted      E#eid         EXPORT                    O#oid#DELETED / deleted#eid
 *   run                        E#eid         RUN#rid                   E#eid#RUNS / created#rid    E#eid#RUNS / interval start#rid
 *   backfill                   E#eid         BACKFILL#bid              E#eid#BACKFILLS / created#… E#eid#BACKFILLS / start_at#bid
 *   log lines of one step      L#eid         time#execution#step
 *   activity entry             A#oid         time#id
 *   idempotency record         IDEMPOTENCY#uid#hash IDEMPOTENCY
 *   job                        J#kind#id     JOB                                                   DUE / time#kind#id
 *   integer ids                SEQ#kind      SEQ
 *   lake: fence, lease         W#pid         FENCE | LEASE
 *   lake: batch on its way     W#pid         PENDING#time#batch
 *   lake: file                 W#pid         FILE#model#day#time#n
 *   lake: state of persons     W#pid         PERSONS
 *   execution (local mode)     X#name        EXECUTION | ITEM#state#index  EXECUTIONS / name       EXECUTIONS / name (running only)
 *   definition of a machine    DEFINITIONS   hash
 *
 * Keys and places (those of an item in the two indexes) are spread into the item:
 * `{ ...keys.project(id), ...places.projectOf(oid, created, id), ... }`. Instants inside keys are written by `sortable`,
 * fixed in width, so that the order of text is the order of time.
 */
import type { Entry, Item, Key, Range } from './table.ts';

/**
 * The type of the item at each key. Whoever declares an item's type enters it here by the name of its key, so that
 * this page knows all types and imports none:
 *
 *     declare module '../ports/table/keys.ts' {
 *       interface Items {
 *         job: JobItem;
 *       }
 *     }
 */
// oxlint-disable-next-line typescript/no-empty-interface
export interface Items {}

type Kind = keyof Items;
type KeyTo<K extends Kind> = Key<Items[K]>;
/** A range of whole items. */
type Of<K extends Kind> = Range<Items[K]>;
/** A range of the index of keys. */
type EntriesOf<K extends Kind> = Range<Entry<Items[K]>>;

/** The attributes that make up the table's keys; infra builds the table from this. */
export const TABLE_DEFINITION = {
  key: { partition: 'pk', sort: 'sk' },
  indexes: {
    first: { partition: 'first_pk', sort: 'first_sk', projection: 'ALL' },
    second: { partition: 'second_pk', sort: 'second_sk', projection: 'KEYS_ONLY' },
  },
  ttl: 'ttl',
} as const;

/** Returns an instant (milliseconds since 1970, years 0 to 9999) as text whose order is the order of time. */
function sortable(instant: number): string {
  return new Date(instant).toISOString();
}

/** Returns a whole number of at most 15 digits as text whose order is numeric. */
function padded(n: number): string {
  return String(n).padStart(15, '0');
}

/** A place in an index holds this many code points of a name: at most 800 of an index key's 1,024 bytes. */
const NAME_LENGTH = 200;

/**
 * Returns a name as a sort part: lower case, control characters as blanks, cut to 200 code points, and an end mark
 * below every character that is left, so that "ab" stands before "ab!".
 */
function sortableName(name: string): string {
  const lower = name.toLowerCase().replace(/\p{Cc}/gu, ' ');
  return `${Array.from(lower).slice(0, NAME_LENGTH).join('')}\u0001`;
}

export const keys = {
  user: (uid: string): KeyTo<'user'> => ({ pk: `U#${uid}`, sk: 'USER' }),
  email: (email: string): KeyTo<'email'> => ({ pk: `MAIL#${email.toLowerCase()}`, sk: 'MAIL' }),
  membership: (uid: string, oid: string): KeyTo<'membership'> => ({ pk: `U#${uid}`, sk: `ORG#${oid}` }),
  organization: (oid: string): KeyTo<'organization'> => ({ pk: `O#${oid}`, sk: 'ORG' }),
  slug: (slug: string): KeyTo<'slug'> => ({ pk: `SLUG#${slug}`, sk: 'SLUG' }),
  project: (pid: number): KeyTo<'project'> => ({ pk: `P#${pid}`, sk: 'PROJECT' }),
  personalApiKey: (sha256: string): KeyTo<'personalApiKey'> => ({ pk: `KEY#${sha256}`, sk: 'KEY' }),
  invitation: (vid: string): KeyTo<'invitation'> => ({ pk: `V#${vid}`, sk: 'INVITE' }),
  dashboard: (pid: number, did: number): KeyTo<'dashboard'> => ({ pk: `D#${pid}#${did}`, sk: 'DASH' }),
  dashboardDetail: (pid: number, did: number): KeyTo<'dashboardDetail'> => ({ pk: `D#${pid}#${did}`, sk: 'DETAIL' }),
  tile: (pid: number, did: number, tid: number): KeyTo<'tile'> => ({
    pk: `D#${pid}#${did}`,
    sk: `TILE#${padded(tid)}`,
  }),
  collaborator: (pid: number, did: number, uid: string): KeyTo<'collaborator'> => ({
    pk: `D#${pid}#${did}`,
    sk: `WITH#${uid}`,
  }),
  /** `target` is the uid of the member for whom the rule is, or stands for everyone. */
  accessRule: (pid: number, did: number, target: string): KeyTo<'accessRule'> => ({
    pk: `D#${pid}#${did}`,
    sk: `RULE#${target}`,
  }),
  sharing: (pid: number, did: number): KeyTo<'sharing'> => ({ pk: `D#${pid}#${did}`, sk: 'SHARE' }),
  sharingToken: (token: string): KeyTo<'sharingToken'> => ({ pk: `T#${token}`, sk: 'TOKEN' }),
  insight: (pid: number, iid: number): KeyTo<'insight'> => ({ pk: `I#${pid}#${iid}`, sk: 'INSIGHT' }),
  batchExport: (eid: string): KeyTo<'batchExport'> => ({ pk: `E#${eid}`, sk: 'EXPORT' }),
  plan: (eid: string): KeyTo<'plan'> => ({ pk: `E#${eid}`, sk: 'PLAN' }),
  run: (eid: string, rid: string): KeyTo<'run'> => ({ pk: `E#${eid}`, sk: `RUN#${rid}` }),
  backfill: (eid: string, bid: string): KeyTo<'backfill'> => ({ pk: `E#${eid}`, sk: `BACKFILL#${bid}` }),
  logLines: (eid: string, instant: number, execution: string, step: string): KeyTo<'logLines'> => ({
    pk: `L#${eid}`,
    sk: `${sortable(instant)}#${execution}#${step}`,
  }),
  activity: (oid: string, instant: number, id: string): KeyTo<'activity'> => ({
    pk: `A#${oid}`,
    sk: `${sortable(instant)}#${id}`,
  }),
  idempotency: (uid: string, hash: string): KeyTo<'idempotency'> => ({
    pk: `IDEMPOTENCY#${uid}#${hash}`,
    sk: 'IDEMPOTENCY',
  }),
  job: (kind: string, id: string): KeyTo<'job'> => ({ pk: `J#${kind}#${id}`, sk: 'JOB' }),
  sequence: (kind: string): KeyTo<'sequence'> => ({ pk: `SEQ#${kind}`, sk: 'SEQ' }),
  fence: (pid: number): KeyTo<'fence'> => ({ pk: `W#${pid}`, sk: 'FENCE' }),
  lease: (pid: number): KeyTo<'lease'> => ({ pk: `W#${pid}`, sk: 'LEASE' }),
  pendingBatch: (pid: number, instant: number, batch: string): KeyTo<'pendingBatch'> => ({
    pk: `W#${pid}`,
    sk: `PENDING#${sortable(instant)}#${batch}`,
  }),
  lakeFile: (
    pid: number,
    model: string,
    day: string,
    instant: number,
    batch: string,
    n: number,
  ): KeyTo<'lakeFile'> => ({
    pk: `W#${pid}`,
    sk: `FILE#${model}#${day}#${sortable(instant)}#${batch}#${n}`,
  }),
  personsState: (pid: number): KeyTo<'personsState'> => ({ pk: `W#${pid}`, sk: 'PERSONS' }),
  execution: (name: string): KeyTo<'execution'> => ({ pk: `X#${name}`, sk: 'EXECUTION' }),
  executionItem: (name: string, state: string, index: number): KeyTo<'executionItem'> => ({
    pk: `X#${name}`,
    sk: `ITEM#${state}#${padded(index)}`,
  }),
  definition: (hash: string): KeyTo<'definition'> => ({ pk: 'DEFINITIONS', sk: hash }),
};

type First = { readonly first_pk: string; readonly first_sk: string };
type Second = { readonly second_pk: string; readonly second_sk: string };

const first = (partition: string, sort: string): First => ({ first_pk: partition, first_sk: sort });
const second = (partition: string, sort: string): Second => ({ second_pk: partition, second_sk: sort });

const both = (partition: string, sort: string): First & Second => ({
  ...first(partition, sort),
  ...second(partition, sort),
});

/** The places of items in the indexes. */
export const places = {
  userAmongAll: (created: number, uid: string) => first('USERS', `${sortable(created)}#${uid}`),
  memberOf: (oid: string, joined: number, uid: string) => first(`O#${oid}#MEMBERS`, `${sortable(joined)}#${uid}`),
  projectOf: (oid: string, created: number, pid: number) =>
    first(`O#${oid}#PROJECTS`, `${sortable(created)}#${padded(pid)}`),
  invitationOf: (oid: string, created: number, vid: string) => first(`O#${oid}#INVITES`, `${sortable(created)}#${vid}`),
  /** Pinned ones first, then by name. */
  dashboardOf: (pid: number, pinned: boolean, name: string, did: number) =>
    both(`P#${pid}#DASHBOARDS`, `${pinned ? 0 : 1}${sortableName(name)}${padded(did)}`),
  deletedDashboardOf: (pid: number, deleted: number, did: number) =>
    both(`P#${pid}#DELETED`, `DASH#${sortable(deleted)}#${padded(did)}`),
  tileOf: (pid: number, iid: number, did: number, tid: number) =>
    second(`I#${pid}#${iid}`, `${padded(did)}#${padded(tid)}`),
  /** A dashboard names a user as a collaborator, or in an access rule. */
  mentionOf: (uid: string, pid: number, did: number) => second(`U#${uid}#WITH`, `${padded(pid)}#${padded(did)}`),
  insightOf: (pid: number, created: number, iid: number) =>
    both(`P#${pid}#INSIGHTS`, `${sortable(created)}#${padded(iid)}`),
  deletedInsightOf: (pid: number, deleted: number, iid: number) =>
    both(`P#${pid}#DELETED`, `INSIGHT#${sortable(deleted)}#${padded(iid)}`),
  exportOf: (oid: string, created: number, eid: string) => first(`O#${oid}#EXPORTS`, `${sortable(created)}#${eid}`),
  deletedExportOf: (oid: string, deleted: number, eid: string) =>
    first(`O#${oid}#DELETED`, `${sortable(deleted)}#${eid}`),
  runOf: (eid: string, created: number, intervalStart: number, rid: string) => ({
    ...first(`E#${eid}#RUNS`, `${sortable(created)}#${rid}`),
    ...second(`E#${eid}#RUNS`, `${sortable(intervalStart)}#${rid}`),
  }),
  backfillOf: (eid: string, created: number, startAt: number, bid: string) => ({
    ...first(`E#${eid}#BACKFILLS`, `${sortable(created)}#${bid}`),
    ...second(`E#${eid}#BACKFILLS`, `${sortable(startAt)}#${bid}`),
  }),
  dueAt: (due: number, kind: string, id: string) => second('DUE', `${sortable(due)}#${kind}#${id}`),
  execution: (name: string) => first('EXECUTIONS', name),
  runningExecution: (name: string) => second('EXECUTIONS', name),
};

/** Bounds of the sort parts that begin with an instant in [from, to]. */
const between = (from?: number, to?: number): Pick<Range, 'from' | 'to'> => ({
  ...(from === undefined ? {} : { from: sortable(from) }),
  ...(to === undefined ? {} : { to: `${sortable(to)}~` }),
});

/** The ranges that are read. */
export const ranges = {
  allUsers: (): Of<'user'> => ({ index: 'first', partition: 'USERS' }),
  userAndMemberships: (uid: string): Of<'user' | 'membership'> => ({ partition: `U#${uid}` }),
  membersOf: (oid: string): Of<'membership'> => ({ index: 'first', partition: `O#${oid}#MEMBERS` }),
  projectsOf: (oid: string): Of<'project'> => ({ index: 'first', partition: `O#${oid}#PROJECTS` }),
  invitationsOf: (oid: string): Of<'invitation'> => ({ index: 'first', partition: `O#${oid}#INVITES` }),
  dashboardsOf: (pid: number): Of<'dashboard'> => ({ index: 'first', partition: `P#${pid}#DASHBOARDS` }),
  /** The summary of a dashboard and all that belongs to it. */
  ofDashboard: (
    pid: number,
    did: number,
  ): Of<'dashboard' | 'dashboardDetail' | 'tile' | 'collaborator' | 'accessRule' | 'sharing'> => ({
    partition: `D#${pid}#${did}`,
  }),
  collaboratorsOf: (pid: number, did: number): Of<'collaborator'> => ({
    partition: `D#${pid}#${did}`,
    prefix: 'WITH#',
  }),
  accessRulesOf: (pid: number, did: number): Of<'accessRule'> => ({ partition: `D#${pid}#${did}`, prefix: 'RULE#' }),
  mentionsOf: (uid: string): EntriesOf<'collaborator' | 'accessRule'> => ({
    index: 'second',
    partition: `U#${uid}#WITH`,
  }),
  insightsOf: (pid: number): Of<'insight'> => ({ index: 'first', partition: `P#${pid}#INSIGHTS`, newestFirst: true }),
  /** The tiles that show an insight, by dashboard. */
  tilesOf: (pid: number, iid: number): EntriesOf<'tile'> => ({ index: 'second', partition: `I#${pid}#${iid}` }),
  /** Dashboards and insights of a project that were deleted and can be brought back. */
  deletedOf: (pid: number): Of<'dashboard' | 'insight'> => ({ index: 'first', partition: `P#${pid}#DELETED` }),
  exportsOf: (oid: string): Of<'batchExport'> => ({ index: 'first', partition: `O#${oid}#EXPORTS`, newestFirst: true }),
  /** The exports of an organization that were deleted and wait for their purge. */
  deletedExportsOf: (oid: string): Of<'batchExport'> => ({ index: 'first', partition: `O#${oid}#DELETED` }),
  /** All that the table knows of a project's lake. */
  lakeOf: (pid: number): Of<'fence' | 'lease' | 'pendingBatch' | 'lakeFile' | 'personsState'> => ({
    partition: `W#${pid}`,
  }),
  ofExport: (eid: string): Of<'batchExport' | 'plan' | 'run' | 'backfill'> => ({ partition: `E#${eid}` }),
  /** Runs that were made in [from, to]. */
  runsByCreation: (eid: string, from?: number, to?: number): Of<'run'> => ({
    index: 'first',
    partition: `E#${eid}#RUNS`,
    ...between(from, to),
    newestFirst: true,
  }),
  /** Runs whose interval starts in [from, to]. */
  runsByInterval: (eid: string, from?: number, to?: number): EntriesOf<'run'> => ({
    index: 'second',
    partition: `E#${eid}#RUNS`,
    ...between(from, to),
    newestFirst: true,
  }),
  backfillsByCreation: (eid: string): Of<'backfill'> => ({
    index: 'first',
    partition: `E#${eid}#BACKFILLS`,
    newestFirst: true,
  }),
  backfillsByStart: (eid: string): EntriesOf<'backfill'> => ({
    index: 'second',
    partition: `E#${eid}#BACKFILLS`,
    newestFirst: true,
  }),
  logLines: (eid: string, from?: number, to?: number): Of<'logLines'> => ({
    partition: `L#${eid}`,
    ...between(from, to),
  }),
  activityOf: (oid: string): Of<'activity'> => ({ partition: `A#${oid}`, newestFirst: true }),
  dueJobs: (upTo: number): EntriesOf<'job'> => ({ index: 'second', partition: 'DUE', to: `${sortable(upTo)}~` }),
  pendingBatches: (pid: number): Of<'pendingBatch'> => ({ partition: `W#${pid}`, prefix: 'PENDING#' }),
  /** Files of one model whose arrival day is in [fromDay, toDay], both `YYYY-MM-DD`. */
  lakeFiles: (pid: number, model: string, fromDay: string, toDay: string): Of<'lakeFile'> => ({
    partition: `W#${pid}`,
    from: `FILE#${model}#${fromDay}`,
    to: `FILE#${model}#${toDay}~`,
  }),
  itemsOf: (name: string, state?: string): Of<'executionItem'> => ({
    partition: `X#${name}`,
    prefix: state === undefined ? 'ITEM#' : `ITEM#${state}#`,
  }),
  definitions: (): Of<'definition'> => ({ partition: 'DEFINITIONS' }),
  runningExecutions: (): EntriesOf<'execution'> => ({ index: 'second', partition: 'EXECUTIONS' }),
  /** Running or not, whose names begin so. */
  executionsNamed: (beginning: string): Of<'execution'> => ({
    index: 'first',
    partition: 'EXECUTIONS',
    prefix: beginning,
  }),
};

/**
 * Returns the guard of the items of a key's kind: their sort part begins with the same word. The key is any of the
 * kind.
 */
export function isSameKind<T extends Item>(key: Key<T>): (item: Item) => item is T {
  const word = idsIn.word(key);
  return (item): item is T => idsIn.word(item) === word;
}

const lastPart = (text: string): string => text.slice(text.lastIndexOf('#') + 1);

/** The ids that a key holds; an entry of the index of keys has nothing else. */
export const idsIn = {
  /** `RUN#rid`, `BACKFILL#bid`, `ORG#oid` -> the id. */
  sortKey: (key: Key): string => lastPart(key.sk),
  /** `J#kind#id` -> kind and id. */
  job: (key: Key): { kind: string; id: string } => {
    const [, kind, ...id] = key.pk.split('#');
    return { kind: kind ?? '', id: id.join('#') };
  },
  /** `TILE#tid`, `DASH` -> the word that says what the item is. */
  word: (key: Key): string => key.sk.split('#', 1)[0] ?? '',
  /** `D#pid#did`, `I#pid#iid` -> the project's number and the object's. */
  ofProject: (key: Key): { project: number; id: number } => {
    const [, project, id] = key.pk.split('#');
    return { project: Number(project), id: Number(id) };
  },
  /** `X#name` -> the execution's name. */
  execution: (key: Key): string => key.pk.slice('X#'.length),
  /** `ITEM#state#index` -> the index. */
  executionItem: (key: Key): number => Number(lastPart(key.sk)),
};
