/** The numbers that the service measures of itself, each with its unit, by the names of CloudWatch. */
export const METRICS = {
  /** Runs that ended so, those without rows too. */
  RunsCompleted: 'Count',
  RunsFailed: 'Count',
  /** Of completed runs; bytes as the destination took them, after compression. */
  RowsDelivered: 'Count',
  BytesDelivered: 'Bytes',
  /** From the end of an interval that the schedule ran to its delivery. */
  DeliveryLag: 'Seconds',
  /** Executions that waited, as their organization had as many intervals under way as it may. */
  ExecutionsQueued: 'Count',
  /** Times that an export began to wait, or went on to, as its destination had failed alike twice or more. */
  BackOffs: 'Count',
  /** Requests whose key was unknown, expired, revoked or malformed. */
  KeysRefused: 'Count',
  /** Captured events: taken and kept; refused, of projects that are known; new in the lake; that were there before. */
  EventsAccepted: 'Count',
  EventsRefused: 'Count',
  EventsLanded: 'Count',
  EventsKnown: 'Count',
  /** What waits in the inbox when a landing begins. */
  InboxBytes: 'Bytes',
  /**
   * From the arrival of the oldest captured event of a landing to its being in the lake; of one that fails, to now. On AWS
   * also the age of the oldest segment as a walk begins.
   */
  LandingDelay: 'Seconds',
  /** Segments of the inbox that were set aside, as something in them cannot be read. */
  SegmentsDamaged: 'Count',
  /** The wait of the oldest due job, as each tick finds it; 0 when none is due. */
  OldestDueJob: 'Seconds',
  /** Jobs that were taken ten times and are still there. */
  JobsParked: 'Count',
} as const;

export type MetricName = keyof typeof METRICS;
type Measures = Readonly<Partial<Record<MetricName, number>>>;

/** The port to those who watch the service. */
export interface Metrics {
  /** Records numbers. `about` stands beside them and is never counted apart. Nothing of it is secret. */
  record(measures: Measures, about?: Readonly<Record<string, string | number>>): void;
}
