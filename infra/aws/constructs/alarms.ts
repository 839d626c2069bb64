import { Aws, Duration } from 'aws-cdk-lib';
import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import {
  Alarm,
  ComparisonOperator,
  type IAlarm,
  type IMetric,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { StageOptions } from '../options.ts';
import type { Stage } from '../stages.ts';
import type { Measured } from './measured.ts';

/** When somebody has to look. Each is a heading of docs/operations.md, which says what to do. */
interface Rule {
  /** What is seen, in a sentence for whoever is woken by it. */
  readonly says: string;
  readonly metric: IMetric;
  /** Reached or passed: the alarm goes off. */
  readonly threshold: number;
  /** Periods in a row; by default one. */
  readonly periods?: number;
  /** Silence is an alarm too. */
  readonly speaks?: true;
  /** A share of what is measured, which is judged only where that is much: of a few, one is a large share. */
  readonly ofMany?: true;
}

const MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
const QUARTER = Duration.minutes(15);

/** The rules, by the heading in docs/operations.md. */
const rules = (
  stage: Stage,
  {
    own,
    api,
    machines,
    functions,
    sender,
    capture,
    apart,
    queries,
    throttled,
    everyFunction,
    unsettled,
    streamDelay,
  }: Measured,
): Record<string, Rule> => ({
  'Jobs are waiting': {
    says: 'The oldest due job has waited for five minutes, or the tick does not run.',
    metric: own('OldestDueJob', 'Maximum', MINUTE),
    threshold: 300,
    periods: 5,
    speaks: true,
  },
  'A job is parked': {
    says: 'A job was started ten times and is still there.',
    metric: own('JobsParked', 'Sum', FIVE_MINUTES),
    threshold: 1,
  },
  'Answers are errors of ours': {
    says: 'The API answered five requests in five minutes with a 5xx.',
    metric: api('5XXError', 'Sum', FIVE_MINUTES),
    threshold: 5,
  },
  'Answers are slow': {
    says: 'One request in a hundred has waited for five seconds or more, for a quarter of an hour.',
    metric: api('Latency', 'p99', FIVE_MINUTES),
    threshold: 5_000,
    periods: 3,
    ofMany: true,
  },
  'An execution is broken': {
    says: 'A state machine failed. What a destination refuses does not count: its run fails, not the machine.',
    metric: sumOf(numbered('failed', machines, (one) => one.metricFailed({ period: FIVE_MINUTES }))),
    threshold: 1,
  },
  'An execution ran out of time': {
    says: 'A state machine took longer than it may.',
    metric: sumOf(numbered('timedOut', machines, (one) => one.metricTimedOut({ period: FIVE_MINUTES }))),
    threshold: 1,
  },
  'Events land late': {
    says: 'Events that SDKs sent came into the lake more than ten minutes after they were acknowledged, or still cannot.',
    metric: own('LandingDelay', 'Maximum', FIVE_MINUTES),
    threshold: 600,
  },
  'The inbox fills': {
    says: 'More than a gigabyte of acknowledged events waits to come into the lake, for a quarter of an hour.',
    metric: own('InboxBytes', 'Minimum', FIVE_MINUTES),
    threshold: 1e9,
    periods: 3,
  },
  'Events are damaged': {
    says: 'Acknowledged events cannot be read, and what holds them was set aside: they are not in the lake.',
    metric: own('SegmentsDamaged', 'Sum', FIVE_MINUTES),
    threshold: 1,
  },
  // https://docs.aws.amazon.com/firehose/latest/dev/firehose-cloudwatch-metrics-best-practices.html names metric and bound.
  'The stream does not deliver': {
    says: 'Acknowledged events have been in the delivery stream for a quarter of an hour; it keeps them for a day and no longer.',
    metric: streamDelay,
    threshold: 900,
  },
  'Events are refused': {
    says: 'Ten thousand events in five minutes were refused: an SDK is set up wrongly, or somebody sends rubbish.',
    metric: own('EventsRefused', 'Sum', FIVE_MINUTES),
    threshold: 10_000,
  },
  'A trigger fails': {
    says: 'The tick, what settles broken executions, or what answers queries behind has thrown three errors in five minutes.',
    metric: sumOf(numbered('errors', functions, (one) => one.metricErrors({ period: FIVE_MINUTES }))),
    threshold: 3,
  },
  'An end is not settled': {
    says: 'An execution did not succeed, and what it left could not be settled: the event waits in a queue.',
    metric: unsettled.metricApproximateNumberOfMessagesVisible({ period: FIVE_MINUTES, statistic: 'Maximum' }),
    threshold: 1,
  },
  'Deliveries are late': {
    says: 'The schedule delivered an interval more than an hour after its end.',
    metric: own('DeliveryLag', 'Maximum', QUARTER),
    threshold: 3_600,
  },
  'The table refuses': {
    says: 'DynamoDB throttled reads or writes of the table, or of one of its indexes.',
    metric: sumOf(throttled(FIVE_MINUTES)),
    threshold: 10,
  },
  'Functions are held back': {
    ...(apart.length === 0
      ? {
          says: 'The account runs as many functions at once as it may.',
          metric: everyFunction('Throttles', FIVE_MINUTES),
        }
      : {
          says: 'The account runs as many functions at once as it may, those with a number of their own aside.',
          // Each of these is held back by that number first.
          metric: new MathExpression({
            expression: `SUM([all, ${apart.map((_, n) => `-1 * throttled${n}`).join(', ')}])`,
            usingMetrics: { all: everyFunction('Throttles', FIVE_MINUTES), ...throttlesOf(apart) },
            period: FIVE_MINUTES,
          }),
        }),
    threshold: 1,
  },
  'Capture is held back': {
    says: 'As many requests of SDKs at once as may be taken were, and others were refused.',
    metric: capture.metricThrottles({ period: FIVE_MINUTES }),
    threshold: 1,
  },
  'Queries are held back': {
    says: 'As many queries as may run at once have done so for half an hour, and others are refused.',
    metric: sumOf(throttlesOf(queries)),
    threshold: 1,
    periods: 6,
  },
  'Senders are held back': {
    says: 'As many deliveries as may run at once have done so for half an hour, and others wait for them.',
    metric: sender.metricThrottles({ period: FIVE_MINUTES }),
    threshold: 1,
    periods: 6,
  },
  'Keys are refused': {
    says: `Five hundred requests in five minutes had keys that ${stage.name} does not know: somebody guesses, or a client has an old one.`,
    metric: own('KeysRefused', 'Sum', FIVE_MINUTES),
    threshold: 500,
  },
});

/** A metric of each, by a word and its number. */
const numbered = <T>(word: string, all: readonly T[], metricOf: (one: T) => IMetric): Record<string, IMetric> =>
  Object.fromEntries(all.map((one, n) => [`${word}${n}`, metricOf(one)]));

const throttlesOf = (functions: readonly IFunction[]): Record<string, IMetric> =>
  numbered('throttled', functions, (one) => one.metricThrottles({ period: FIVE_MINUTES }));

/**
 * A sum in five minutes of what there is: most of these metrics are silent when all is well, and `a + b` is nothing where
 * one is.
 */
const sumOf = (usingMetrics: Record<string, IMetric>): MathExpression =>
  new MathExpression({
    expression: `SUM([${Object.keys(usingMetrics).join(', ')}])`,
    usingMetrics,
    period: FIVE_MINUTES,
  });

interface AlarmsProps {
  readonly stage: Stage;
  readonly options: StageOptions;
  readonly measured: Measured;
}

/** The alarms of a stage and its budget, all told through one topic. */
export class Alarms extends Construct {
  readonly all: readonly IAlarm[];

  constructor(scope: Construct, id: string, { stage, options: { alertEmail }, measured }: AlarmsProps) {
    super(scope, id);
    const topic = new Topic(this, 'Topic', { displayName: `Workspaces (${stage.name})`, enforceSSL: true });
    // Services of AWS speak for every account: only what they say for this one is passed on.
    const conditions = { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } };
    for (const service of ['budgets.amazonaws.com', 'cloudwatch.amazonaws.com'])
      topic.grantPublish(new ServicePrincipal(service, { conditions }));
    if (alertEmail !== undefined) topic.addSubscription(new EmailSubscription(alertEmail));

    this.all = Object.entries(rules(stage, measured)).map(([heading, rule]) => {
      const alarm = new Alarm(this, heading.replaceAll(' ', ''), {
        alarmName: `workspaces-${stage.name}: ${heading}`,
        alarmDescription: `${rule.says} See "${heading}" in docs/operations.md.`,
        metric: rule.metric,
        threshold: rule.threshold,
        evaluationPeriods: rule.periods ?? 1,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        ...(rule.ofMany === true ? { evaluateLowSampleCountPercentile: 'ignore' } : {}),
        treatMissingData: rule.speaks === true ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(new SnsAction(topic));
      alarm.addOkAction(new SnsAction(topic));
      return alarm;
    });

    const told = { subscribers: [{ subscriptionType: 'SNS', address: topic.topicArn }] };
    // AWS names it: its name is the account's, in which the stage may stand in other Regions too, and a change of who is
    // told makes a new one before the old one goes.
    new CfnBudget(this, 'Budget', {
      budget: {
        budgetType: 'COST',
        timeUnit: 'MONTHLY',
        budgetLimit: { amount: stage.monthlyBudget, unit: 'USD' },
        // Counts once the tag is a cost allocation tag of the account.
        costFilters: { TagKeyValue: [`user:stage$${stage.name}`], Region: [Aws.REGION] },
      },
      notificationsWithSubscribers: [
        { ...told, notification: { ...OVER, notificationType: 'ACTUAL', threshold: 80 } },
        { ...told, notification: { ...OVER, notificationType: 'FORECASTED', threshold: 100 } },
      ],
    });
  }
}

/** Thresholds of a budget are in percent of it. */
const OVER = { comparisonOperator: 'GREATER_THAN', thresholdType: 'PERCENTAGE' } as const;
