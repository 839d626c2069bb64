import { Duration } from 'aws-cdk-lib';
import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { DIMENSION, NAMESPACE } from '../../../lib/ports/metrics/emf.ts';
import type { MetricName } from '../../../lib/ports/metrics/metrics.ts';
import { TABLE_DEFINITION } from '../../../lib/ports/table/keys.ts';
import type { Stage } from '../stages.ts';

type Statistic = 'Sum' | 'Average' | 'Minimum' | 'Maximum' | 'p50' | 'p99';

/** What can be watched of a stage. */
export interface Measured {
  /** The service's own numbers. */
  readonly own: (name: MetricName, statistic: Statistic, period?: Duration) => IMetric;
  readonly api: (
    name: 'Count' | '4XXError' | '5XXError' | 'Latency',
    statistic: Statistic,
    period?: Duration,
  ) => IMetric;
  readonly table: (name: 'ConsumedReadCapacityUnits' | 'ConsumedWriteCapacityUnits', period?: Duration) => IMetric;
  /** What DynamoDB throttled, of the table and of each of its indexes, by names of their own. */
  readonly throttled: (period?: Duration) => Readonly<Record<string, IMetric>>;
  /** Of all functions of the account together. */
  readonly everyFunction: (name: 'Throttles' | 'ConcurrentExecutions' | 'Errors', period?: Duration) => IMetric;
  readonly machines: readonly IStateMachine[];
  /** Functions that nobody waits for: only their errors tell that they failed. */
  readonly functions: readonly IFunction[];
  readonly sender: IFunction;
  readonly capture: IFunction;
  /** Those of which so many at once are set apart from the account's. */
  readonly apart: readonly IFunction[];
  /** Those that answer queries: by reading the lake for others, and behind. */
  readonly queries: readonly IFunction[];
  readonly unsettled: IQueue;
  /** How old the oldest request is, in seconds, that the delivery stream of the inbox has not written yet. */
  readonly streamDelay: IMetric;
}

const FIVE_MINUTES = Duration.minutes(5);

interface Watched
  extends Pick<Measured, 'machines' | 'functions' | 'sender' | 'capture' | 'apart' | 'queries' | 'unsettled'> {
  readonly stage: Stage;
  readonly apiName: string;
  readonly tableName: string;
  readonly streamName: string;
}

const metric =
  (namespace: string, dimensionsMap: Record<string, string>) =>
  (metricName: string, statistic: Statistic, period: Duration): IMetric =>
    new Metric({ namespace, metricName, statistic, period, dimensionsMap });

/** The numbers of a stage, by their names in CloudWatch. */
export function measured({ stage, apiName, tableName, streamName, ...rest }: Watched): Measured {
  const own = metric(NAMESPACE, { [DIMENSION]: stage.name });
  const api = metric('AWS/ApiGateway', { ApiName: apiName, Stage: stage.name });
  const table = metric('AWS/DynamoDB', { TableName: tableName });
  // By its name alone DynamoDB tells nothing of a table's indexes:
  // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
  const indexes = Object.keys(TABLE_DEFINITION.indexes).map(
    (index) => [index, metric('AWS/DynamoDB', { TableName: tableName, GlobalSecondaryIndexName: index })] as const,
  );
  const account = metric('AWS/Lambda', {});
  const stream = metric('AWS/Firehose', { DeliveryStreamName: streamName });
  return {
    ...rest,
    streamDelay: stream('DeliveryToS3.DataFreshness', 'Maximum', FIVE_MINUTES),
    own: (name, statistic, period = FIVE_MINUTES) => own(name, statistic, period),
    api: (name, statistic, period = FIVE_MINUTES) => api(name, statistic, period),
    table: (name, period = FIVE_MINUTES) => table(name, 'Sum', period),
    throttled: (period = FIVE_MINUTES) =>
      Object.fromEntries(
        [['table', table] as const, ...indexes].flatMap(([part, of]) => [
          [`${part}Reads`, of('ReadThrottleEvents', 'Sum', period)],
          [`${part}Writes`, of('WriteThrottleEvents', 'Sum', period)],
        ]),
      ),
    everyFunction: (name, period = FIVE_MINUTES) =>
      account(name, name === 'ConcurrentExecutions' ? 'Maximum' : 'Sum', period),
  };
}
