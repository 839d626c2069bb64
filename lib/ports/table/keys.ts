/**
 * Every key of the table, on one page. Nothing else joins text into a key.
 *
 *   item                       pk            sk                        first index                 second index (keys only)
 *   user / by e-mail           U#uid         USER   | MAIL#email MAIL  user: USERS / created#uid
 *   membership                 U#uid         ORG#oid                   O#oid#MEMBERS / joined#uid
 *   organization / slug        O#oid         ORG    | SLUG#slug SLUG
 *   project                    P#pid         PROJECT                   O#oid#PROJECTS / created#pid
 *   token of a project         T#token       PROJECT
 *   personal API key           KEY#sha256    KEY
 *   invitation                 V#vid         INVITE                    O#oid#INVITES / created#vid
 *   dashboard: summary         D#pid#did     DASH                      P#pid#DASHBOARDS / pinned, name, did  the same
 *   dashboard, deleted         D#pid#did     DASH                      P#pid#DELETED / DASH#deleted#did      the same
 *   dashboard: detail          D#pid#did     DETAIL
 *   tile                       D#pid#did     TILE#tid                                                        of an insight: I#pid#iid / did#tid
 *   collaborator               D#pid#did     WITH#uid                                                        U#uid#WITH / pid#did
 *   access rule                D#pid#did     RULE#target                                                     of a member: U#uid#WITH / pid#did
 *   sharing / its token        D#pid#did     SHARE | T#token TOKEN
 *   tries of its password      COUNT#token#addr  WINDOW#n
 *   insight                    I#pid#iid     INSIGHT                   P#pid#INSIGHTS / created#iid          the same
 *   insight, deleted           I#pid#iid     INSIGHT                   P#pid#DELETED / INSIGHT#deleted#iid   the same
 *   alert                      N#pid#aid     ALERT                     P#pid#ALERTS / created#aid
 *   subscription               N#pid#sid     SUBSCRIPTION              P#pid#SUBSCRIPTIONS / created#sid
 *   batch export / its plan    E#eid         EXPORT | PLAN             O#oid#EXPORTS / created#eid
 *   batch export, deleted      E#eid         EXPORT                    O#oid#DELETED / deleted#eid
 *   run                        E#eid         RUN#rid                   E#eid#RUNS / created#start#rid  E#eid#RUNS / interval start#rid
 *   backfill                   E#eid         BACKFILL#bid              E#eid#BACKFILLS / created#… E#eid#BACKFILLS / start_at#bid
 *   log lines of one step      L#eid         time#execution#step
 *   requests of a key          COUNT#kid     MINUTE#minute
 *   ticket of an execution     Q#oid         TICKET#execution
 *   activity entry             A#oid         time#id
 *   idempotency record         IDEMPOTENCY#uid#hash IDEMPOTENCY
 *   job                        J#kind#id     JOB                                                   DUE / time#kind#id
 *   integer ids                SEQ#kind      SEQ
 *   lake: fence, lease         W#pid         FENCE | LEASE | IMPORTING
 *   lake: batch on its way     W#pid         PENDING#time#batch
 *   lake: file                 W#pid         FILE#model#day#time#n
 *   lake: which files there are W#pid        LAYOUT
 *   lake: files to be removed  W#pid         RETIRED#time#id
 *   lake: state of persons     W#pid         PERSONS
 *   captured events of a day   W#pid         CAPTURED#day
 *   of the minutes of an hour  W#pid         MINUTES#hour
 *   what took down a landing   W#pid         LANDING-DEATHS
 *   forgotten distinct_id      W#pid         FORGOTTEN#sha256
 *   how far a file is imported W#pid         BOOKMARK#sha256
 *   import by request          W#pid         IMPORT#iid                IMPORTS / created#iid (may run)
 *   answer to a query          ANSWERS#pid   ANSWER#forgotten#key
 *   run of a query (AWS)       ANSWERS#pid   QUERY#name
 *   it is being computed (AWS) ANSWERS#pid   UNDER-WAY#key
 *   what queries read          ANSWERS#pid   PROPERTY-READS
 *   shared turn (AWS)          TURNS#oid     TURN#kind#n
 *   last restore               RESTORED      RESTORED
 *   layout of the data (AWS)   LAYOUT        LAYOUT
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

const at = <K extends Kind>(pk: string, sk: string): Key<Items[K]> => ({ pk, sk });

export const keys = {
  user: (uid: string) => at<'user'>(`U#${uid}`, 'USER'),
  email: (email: string) => at<'email'>(`MAIL#${email.toLowerCase()}`, 'MAIL'),
  membership: (uid: string, oid: string) => at<'membership'>(`U#${uid}`, `ORG#${oid}`),
  organization: (oid: string) => at<'organization'>(`O#${oid}`, 'ORG'),
  slug: (slug: string) => at<'slug'>(`SLUG#${slug}`, 'SLUG'),
  project: (pid: number) => at<'project'>(`P#${pid}`, 'PROJECT'),
  personalApiKey: (sha256: string) => at<'personalApiKey'>(`KEY#${sha256}`, 'KEY'),
  invitation: (vid: string) => at<'invitation'>(`V#${vid}`, 'INVITE'),
  dashboard: (pid: number, did: number) => at<'dashboard'>(`D#${pid}#${did}`, 'DASH'),
  dashboardDetail: (pid: number, did: number) => at<'dashboardDetail'>(`D#${pid}#${did}`, 'DETAIL'),
  tile: (pid: number, did: number, tid: number) => at<'tile'>(`D#${pid}#${did}`, `TILE#${padded(tid)}`),
  collaborator: (pid: number, did: number, uid: string) => at<'collaborator'>(`D#${pid}#${did}`, `WITH#${uid}`),
  /** `target` is the uid of the member for whom the rule is, or stands for everyone. */
  accessRule: (pid: number, did: number, target: string) => at<'accessRule'>(`D#${pid}#${did}`, `RULE#${target}`),
  sharing: (pid: number, did: number) => at<'sharing'>(`D#${pid}#${did}`, 'SHARE'),
  projectToken: (token: string) => at<'projectToken'>(`T#${token}`, 'PROJECT'),
  sharingToken: (token: string) => at<'sharingToken'>(`T#${token}`, 'TOKEN'),
  passwordTries: (token: string, address: string, window: number) =>
    at<'passwordTries'>(`COUNT#${token}#${address}`, `WINDOW#${padded(window)}`),
  insight: (pid: number, iid: number) => at<'insight'>(`I#${pid}#${iid}`, 'INSIGHT'),
  alert: (pid: number, aid: string) => at<'alert'>(`N#${pid}#${aid}`, 'ALERT'),
  subscription: (pid: number, sid: number) => at<'subscription'>(`N#${pid}#${sid}`, 'SUBSCRIPTION'),
  batchExport: (eid: string) => at<'batchExport'>(`E#${eid}`, 'EXPORT'),
  plan: (eid: string) => at<'plan'>(`E#${eid}`, 'PLAN'),
  run: (eid: string, rid: string) => at<'run'>(`E#${eid}`, `RUN#${rid}`),
  backfill: (eid: string, bid: string) => at<'backfill'>(`E#${eid}`, `BACKFILL#${bid}`),
  logLines: (eid: string, instant: number, execution: string, step: string) =>
    at<'logLines'>(`L#${eid}`, `${sortable(instant)}#${execution}#${step}`),
  activity: (oid: string, instant: number, id: string) => at<'activity'>(`A#${oid}`, `${sortable(instant)}#${id}`),
  requestCount: (kid: string, minute: number) => at<'requestCount'>(`COUNT#${kid}`, `MINUTE#${padded(minute)}`),
  ticket: (oid: string, execution: string) => at<'ticket'>(`Q#${oid}`, `TICKET#${execution}`),
  idempotency: (uid: string, hash: string) => at<'idempotency'>(`IDEMPOTENCY#${uid}#${hash}`, 'IDEMPOTENCY'),
  job: (kind: string, id: string) => at<'job'>(`J#${kind}#${id}`, 'JOB'),
  sequence: (kind: string) => at<'sequence'>(`SEQ#${kind}`, 'SEQ'),
  fence: (pid: number) => at<'fence'>(`W#${pid}`, 'FENCE'),
  lease: (pid: number) => at<'lease'>(`W#${pid}`, 'LEASE'),
  importing: (pid: number) => at<'importing'>(`W#${pid}`, 'IMPORTING'),
  pendingBatch: (pid: number, instant: number, batch: string) =>
    at<'pendingBatch'>(`W#${pid}`, `PENDING#${sortable(instant)}#${batch}`),
  lakeFile: (pid: number, model: string, day: string, instant: number, batch: string, n: number) =>
    at<'lakeFile'>(`W#${pid}`, `FILE#${model}#${day}#${sortable(instant)}#${batch}#${n}`),
  captureCounts: (pid: number, day: string) => at<'captureCounts'>(`W#${pid}`, `CAPTURED#${day}`),
  /** `forgotten` is how often the project had forgotten its answers when this one was asked for. */
  answer: (pid: number, forgotten: number, key: string) => at<'answer'>(`ANSWERS#${pid}`, `ANSWER#${forgotten}#${key}`),
  queryRun: (pid: number, name: string) => at<'queryRun'>(`ANSWERS#${pid}`, `QUERY#${name}`),
  answerUnderWay: (pid: number, key: string) => at<'answerUnderWay'>(`ANSWERS#${pid}`, `UNDER-WAY#${key}`),
  propertyReads: (pid: number) => at<'propertyReads'>(`ANSWERS#${pid}`, 'PROPERTY-READS'),
  sharedTurn: (oid: string, kind: string, n: number) => at<'sharedTurn'>(`TURNS#${oid}`, `TURN#${kind}#${padded(n)}`),
  lakeLayout: (pid: number) => at<'lakeLayout'>(`W#${pid}`, 'LAYOUT'),
  retiredFiles: (pid: number, due: number, id: string) =>
    at<'retiredFiles'>(`W#${pid}`, `RETIRED#${sortable(due)}#${id}`),
  personDeletion: (pid: number, id: string) => at<'personDeletion'>(`W#${pid}`, `DELETION#${id}`),
  forgotten: (pid: number, sha256: string) => at<'forgotten'>(`W#${pid}`, `FORGOTTEN#${sha256}`),
  importBookmark: (pid: number, sha256: string) => at<'importBookmark'>(`W#${pid}`, `BOOKMARK#${sha256}`),
  requestedImport: (pid: number, iid: string) => at<'requestedImport'>(`W#${pid}`, `IMPORT#${iid}`),
  captureMinutes: (pid: number, hour: string) => at<'captureMinutes'>(`W#${pid}`, `MINUTES#${hour}`),
  landingDeaths: (pid: number) => at<'landingDeaths'>(`W#${pid}`, 'LANDING-DEATHS'),
  personsState: (pid: number) => at<'personsState'>(`W#${pid}`, 'PERSONS'),
  restored: () => at<'restored'>('RESTORED', 'RESTORED'),
  dataLayout: () => at<'dataLayout'>('LAYOUT', 'LAYOUT'),
  execution: (name: string) => at<'execution'>(`X#${name}`, 'EXECUTION'),
  executionItem: (name: string, state: string, index: number) =>
    at<'executionItem'>(`X#${name}`, `ITEM#${state}#${padded(index)}`),
  definition: (hash: string) => at<'definition'>('DEFINITIONS', hash),
};

const first = (partition: string, sort: string) => ({ first_pk: partition, first_sk: sort });
const second = (partition: string, sort: string) => ({ second_pk: partition, second_sk: sort });
const both = (partition: string, sort: string) => ({ ...first(partition, sort), ...second(partition, sort) });

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
  alertOf: (pid: number, created: number, aid: string) => first(`P#${pid}#ALERTS`, `${sortable(created)}#${aid}`),
  subscriptionOf: (pid: number, created: number, sid: number) =>
    first(`P#${pid}#SUBSCRIPTIONS`, `${sortable(created)}#${padded(sid)}`),
  exportOf: (oid: string, created: number, eid: string) => first(`O#${oid}#EXPORTS`, `${sortable(created)}#${eid}`),
  deletedExportOf: (oid: string, deleted: number, eid: string) =>
    first(`O#${oid}#DELETED`, `${sortable(deleted)}#${eid}`),
  /** Those of a backfill are made many at once: they stand by their intervals. */
  runOf: (eid: string, created: number, intervalStart: number, rid: string) => ({
    ...first(`E#${eid}#RUNS`, `${sortable(created)}#${sortable(intervalStart)}#${rid}`),
    ...second(`E#${eid}#RUNS`, `${sortable(intervalStart)}#${rid}`),
  }),
  backfillOf: (eid: string, created: number, startAt: number, bid: string) => ({
    ...first(`E#${eid}#BACKFILLS`, `${sortable(created)}#${bid}`),
    ...second(`E#${eid}#BACKFILLS`, `${sortable(startAt)}#${bid}`),
  }),
  openImport: (created: number, iid: string) => first('IMPORTS', `${sortable(created)}#${iid}`),
  dueAt: (due: number, kind: string, id: string) => second('DUE', `${sortable(due)}#${kind}#${id}`),
  execution: (name: string) => first('EXECUTIONS', name),
  runningExecution: (name: string) => second('EXECUTIONS', name),
};

/** Bounds of the sort parts that begin with an instant in [from, to]. */
const between = (from?: number, to?: number): Pick<Range, 'from' | 'to'> => ({
  ...(from === undefined ? {} : { from: sortable(from) }),
  ...(to === undefined ? {} : { to: `${sortable(to)}~` }),
});

type Part = Pick<Range, 'from' | 'to' | 'prefix' | 'newestFirst'>;

/** Ranges of the table and of the first index hold whole items, those of the second entries. */
const partition = <K extends Kind>(name: string, part?: Part): Range<Items[K]> => ({ partition: name, ...part });
const wholes = <K extends Kind>(name: string, part?: Part): Range<Items[K]> => ({
  index: 'first',
  partition: name,
  ...part,
});
const entries = <K extends Kind>(name: string, part?: Part): Range<Entry<Items[K]>> => ({
  index: 'second',
  partition: name,
  ...part,
});

/** The ranges that are read. */
export const ranges = {
  allUsers: () => wholes<'user'>('USERS'),
  userAndMemberships: (uid: string) => partition<'user' | 'membership'>(`U#${uid}`),
  membersOf: (oid: string) => wholes<'membership'>(`O#${oid}#MEMBERS`),
  projectsOf: (oid: string) => wholes<'project'>(`O#${oid}#PROJECTS`),
  invitationsOf: (oid: string) => wholes<'invitation'>(`O#${oid}#INVITES`),
  dashboardsOf: (pid: number) => wholes<'dashboard'>(`P#${pid}#DASHBOARDS`),
  /** The summary of a dashboard and all that belongs to it. */
  ofDashboard: (pid: number, did: number) =>
    partition<'dashboard' | 'dashboardDetail' | 'tile' | 'collaborator' | 'accessRule' | 'sharing'>(`D#${pid}#${did}`),
  collaboratorsOf: (pid: number, did: number) => partition<'collaborator'>(`D#${pid}#${did}`, { prefix: 'WITH#' }),
  accessRulesOf: (pid: number, did: number) => partition<'accessRule'>(`D#${pid}#${did}`, { prefix: 'RULE#' }),
  mentionsOf: (uid: string) => entries<'collaborator' | 'accessRule'>(`U#${uid}#WITH`),
  insightsOf: (pid: number) => wholes<'insight'>(`P#${pid}#INSIGHTS`, { newestFirst: true }),
  /** The tiles that show an insight, by dashboard. */
  tilesOf: (pid: number, iid: number) => entries<'tile'>(`I#${pid}#${iid}`),
  /** Dashboards and insights of a project that were deleted and can be brought back. */
  deletedOf: (pid: number) => wholes<'dashboard' | 'insight'>(`P#${pid}#DELETED`),
  alertsOf: (pid: number) => wholes<'alert'>(`P#${pid}#ALERTS`, { newestFirst: true }),
  /** Deleted ones too: they are deleted softly. */
  subscriptionsOf: (pid: number) => wholes<'subscription'>(`P#${pid}#SUBSCRIPTIONS`, { newestFirst: true }),
  exportsOf: (oid: string) => wholes<'batchExport'>(`O#${oid}#EXPORTS`, { newestFirst: true }),
  /** The exports of an organization that were deleted and wait for their purge. */
  deletedExportsOf: (oid: string) => wholes<'batchExport'>(`O#${oid}#DELETED`),
  /** All that the table knows of a project's lake. */
  lakeOf: (pid: number) =>
    partition<
      | 'fence'
      | 'lease'
      | 'importing'
      | 'pendingBatch'
      | 'lakeFile'
      | 'lakeLayout'
      | 'retiredFiles'
      | 'personsState'
      | 'captureCounts'
      | 'captureMinutes'
      | 'landingDeaths'
      | 'importBookmark'
      | 'requestedImport'
      | 'forgotten'
      | 'personDeletion'
    >(`W#${pid}`),
  /** Answers to queries that are kept. */
  answersOf: (pid: number) => partition<'answer'>(`ANSWERS#${pid}`, { prefix: 'ANSWER#' }),
  /** All that is kept of a project's queries. */
  queriesOf: (pid: number) => partition<'answer' | 'queryRun' | 'answerUnderWay' | 'propertyReads'>(`ANSWERS#${pid}`),
  /** The counts of minutes of the hours in [from, to], both `YYYY-MM-DDTHH`. */
  captureMinutes: (pid: number, from: string, to: string) =>
    partition<'captureMinutes'>(`W#${pid}`, { from: `MINUTES#${from}`, to: `MINUTES#${to}` }),
  ofExport: (eid: string) => partition<'batchExport' | 'plan' | 'run' | 'backfill'>(`E#${eid}`),
  /** Runs that were made in [from, to]. */
  runsByCreation: (eid: string, from?: number, to?: number) =>
    wholes<'run'>(`E#${eid}#RUNS`, { ...between(from, to), newestFirst: true }),
  /** Runs whose interval starts in [from, to]. */
  runsByInterval: (eid: string, from?: number, to?: number) =>
    entries<'run'>(`E#${eid}#RUNS`, { ...between(from, to), newestFirst: true }),
  /** Backfills that were made in [from, to]. */
  backfillsByCreation: (eid: string, from?: number, to?: number) =>
    wholes<'backfill'>(`E#${eid}#BACKFILLS`, { ...between(from, to), newestFirst: true }),
  backfillsByStart: (eid: string) => entries<'backfill'>(`E#${eid}#BACKFILLS`, { newestFirst: true }),
  logLines: (eid: string, from?: number, to?: number) => partition<'logLines'>(`L#${eid}`, { ...between(from, to) }),
  ticketsOf: (oid: string) => partition<'ticket'>(`Q#${oid}`),
  activityOf: (oid: string) => partition<'activity'>(`A#${oid}`, { newestFirst: true }),
  dueJobs: (upTo: number) => entries<'job'>('DUE', { to: `${sortable(upTo)}~` }),
  /** Imports by request, the newest first. */
  importsOf: (pid: number) => partition<'requestedImport'>(`W#${pid}`, { prefix: 'IMPORT#', newestFirst: true }),
  /** Those of all projects that have not ended, the oldest first. */
  openImports: () => wholes<'requestedImport'>('IMPORTS'),
  pendingBatches: (pid: number) => partition<'pendingBatch'>(`W#${pid}`, { prefix: 'PENDING#' }),
  /** Persons who are to be deleted, who was asked for first before others. */
  personDeletions: (pid: number) => partition<'personDeletion'>(`W#${pid}`, { prefix: 'DELETION#' }),
  forgotten: (pid: number) => partition<'forgotten'>(`W#${pid}`, { prefix: 'FORGOTTEN#' }),
  /** What is to be removed, the earliest first; `until`: what is due by then. */
  retiredFiles: (pid: number, until?: number) =>
    partition<'retiredFiles'>(`W#${pid}`, {
      from: 'RETIRED#',
      to: until === undefined ? 'RETIRED#~' : `RETIRED#${sortable(until)}~`,
    }),
  /** Files of one model whose arrival day is in [fromDay, toDay], both `YYYY-MM-DD`. */
  lakeFiles: (pid: number, model: string, fromDay: string, toDay: string) =>
    partition<'lakeFile'>(`W#${pid}`, { from: `FILE#${model}#${fromDay}`, to: `FILE#${model}#${toDay}~` }),
  itemsOf: (name: string, state?: string) =>
    partition<'executionItem'>(`X#${name}`, { prefix: state === undefined ? 'ITEM#' : `ITEM#${state}#` }),
  definitions: () => partition<'definition'>('DEFINITIONS'),
  runningExecutions: () => entries<'execution'>('EXECUTIONS'),
  /** Running or not, whose names begin so. */
  executionsNamed: (beginning: string) => wholes<'execution'>('EXECUTIONS', { prefix: beginning }),
};

/** Returns the guard of the items of this key's kind: their sort part begins with the same word. */
export function isSameKind<T extends Item>(key: Key<T>): (item: Item) => item is T {
  const word = idsIn.word(key);
  return (item): item is T => idsIn.word(item) === word;
}

/** The ids that a key holds; an entry of the index of keys has nothing else. */
export const idsIn = {
  /** `J#kind#id` -> kind and id. */
  job: (key: Key): { kind: string; id: string } => {
    const [, kind, ...id] = key.pk.split('#');
    return { kind: kind ?? '', id: id.join('#') };
  },
  /** `FILE#model#day#instant#batch#n` -> the part up to the instant: where keys begin of files so late. */
  lakePlace: (key: Key): string => key.sk.split('#', 4).join('#'),
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
  executionItem: (key: Key): number => Number(key.sk.slice(key.sk.lastIndexOf('#') + 1)),
};
