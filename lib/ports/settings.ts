import { MIB } from '../basics/units.ts';

/** The choices that differ between deployments. Times are in the unit that the name says. */
export interface Settings {
  /** An interval is due this long after its end; saves writers a rewrite, decides nothing. */
  readonly settleSeconds: number;
  /** Exports of one frequency start after one another, by up to the frequency's spread; otherwise all at once. */
  readonly isSpread: boolean;
  /** An imported event older than the project's first interval by this much keeps its own time as arrival. */
  readonly historyDays: number;
  /** Batches of one backfill that run at the same time. */
  readonly backfillConcurrency: number;
  /** Intervals of one batch that are delivered at the same time. */
  readonly deliveryConcurrency: number;
  /** A user makes at most so many organizations: in each, work has turns of its own beside those of others. */
  readonly organizationsPerUser: number;
  /** Intervals of one organization that are delivered at the same time, about. Null: any number. */
  readonly organizationIntervals: number | null;
  /** The log of an export is kept for this long. */
  readonly logDays: number;
  /**
   * Runs are kept for this long, at least 7 days; older ones go when the schedule next looks at their export. Null: for
   * ever. The default is the activity log's: a year and a month, of a five-minute export 115,200 runs of 1 KB.
   */
  readonly runDays: number | null;
  /** A worker looks this often whether its run was cancelled. */
  readonly cancelSeconds: number;
  /** A run delivers at most this many stored bytes; a larger interval fails before a read. Null: any number. */
  readonly maxIntervalBytes: number | null;
  /** The price of a query: by the bytes that it reads, at least `minimumBytes`. Null: it costs nothing. */
  readonly scanPrice: { readonly dollarsPerTerabyte: number; readonly minimumBytes: number } | null;
  /**
   * What a query reads at most of a stage's lake, in bytes of files: in a function for who waits, in one for nobody, and by
   * Athena, for who asks `async`. Null: any number (there are no such functions).
   */
  readonly queryBytes: { readonly waited: number; readonly background: number; readonly athena: number } | null;
  /**
   * Queries of one organization that a stage answers at the same time: that somebody waits for, and that nobody does; no more
   * than half of the functions that are set apart for them. Null: there are no such functions.
   */
  readonly queryTurns: { readonly waited: number; readonly background: number } | null;
  /** Destinations at loopback, link-local and private addresses are allowed (local mode). */
  readonly privateAddresses: boolean;
  /**
   * Absolute folders in which Folder may write, each organization below its own, which its id names. Null: anywhere.
   * Undefined: Folder is not offered.
   */
  readonly folderRoots: readonly string[] | null | undefined;
  /** The absolute folder in which one machine keeps all state; Folder writes nowhere below it. Null: there is none. */
  readonly dataDirectory: string | null;
  /** The address under which callers know the service, without a slash at its end; null: as the gateway sees it. */
  readonly publicUrl: string | null;
  /** Who mail is from; null: none is sent. */
  readonly mailFrom: string | null;
  /** Requests of one key in a minute, about; more are answered 429. Null: any number. */
  readonly requestsPerKey: number | null;
  /** Captured events of one project that are taken in a day (UTC), about; more are dropped, and counted. Null: any number. */
  readonly eventsPerDay: number | null;
  /** A file that is uploaded to be imported has at most so many bytes. Null: any number, as the disk has room. */
  readonly importBytes: number | null;
  /** The path of the Chromium that makes pictures of pages; null: none are made. */
  readonly chromium: string | null;
  /** An answer has at most so many bytes as it is handed to the gateway. Null: any number. */
  readonly answerBytes: number | null;
  /** An answer that does not fit its row is a 500 (tests), not a line in the log. */
  readonly strictAnswers: boolean;
  /** Destination types that this deployment can deliver to. */
  readonly destinations: readonly string[];
}

/** The defaults of local mode. */
export const LOCAL_SETTINGS: Settings = {
  settleSeconds: 30,
  isSpread: false,
  historyDays: 7,
  backfillConcurrency: 2,
  deliveryConcurrency: 4,
  organizationsPerUser: 100,
  organizationIntervals: null,
  logDays: 30,
  runDays: 400,
  cancelSeconds: 0.25,
  maxIntervalBytes: 8e9,
  scanPrice: null,
  queryBytes: null,
  queryTurns: null,
  privateAddresses: true,
  folderRoots: null,
  dataDirectory: null,
  publicUrl: null,
  mailFrom: null,
  requestsPerKey: null,
  eventsPerDay: null,
  importBytes: 10e9,
  chromium: null,
  answerBytes: null,
  strictAnswers: false,
  destinations: ['Folder', 'HTTP', 'NoOp', 'Postgres', 'Redshift', 'S3'],
};

/** The defaults of a stage on AWS, where they differ. No Folder: a function's disk is nobody's. */
export const CLOUD_SETTINGS: Settings = {
  ...LOCAL_SETTINGS,
  isSpread: true,
  cancelSeconds: 3,
  // Of 10 GiB of disk a row takes some 370 bytes, unloaded and spilled: 29 million rows, which are stored in 3 GB.
  maxIntervalBytes: 3e9,
  organizationIntervals: 40,
  // All of them together have less than what prod sets apart: of queries that somebody waits for 40 of 50, of senders 200 of 400.
  organizationsPerUser: 5,
  // PostHog's. https://posthog.com/docs/api#rate-limiting
  requestsPerKey: 480,
  // Athena: $5 per TB, and at least 10 MB a query (aws.amazon.com/athena/pricing, us-east-1).
  scanPrice: { dollarsPerTerabyte: 5, minimumBytes: 10 * MIB },
  // Athena reads it for half a dollar: about a hundred days of 10 million events each.
  queryBytes: { waited: 1e9, background: 4e9, athena: 100e9 },
  queryTurns: { waited: 8, background: 8 },
  // Lambda takes 6 MB of a function (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html); headers come to it.
  answerBytes: 6_000_000,
  privateAddresses: false,
  folderRoots: undefined,
  destinations: ['HTTP', 'NoOp', 'Postgres', 'Redshift', 'S3'],
};
