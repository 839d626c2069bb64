import { Aws } from 'aws-cdk-lib';
import { AlarmStatusWidget, Dashboard, GraphWidget, type IAlarm, type IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Stage } from '../stages.ts';
import type { Measured } from './measured.ts';

interface OverviewProps {
  readonly stage: Stage;
  readonly measured: Measured;
  readonly alarms: readonly IAlarm[];
}

const graph = (title: string, left: IMetric[], right: IMetric[] = []) =>
  new GraphWidget({ title, left, right, width: 8, leftYAxis: { min: 0 }, rightYAxis: { min: 0 } });

/** The CloudWatch dashboard of a stage: what callers see, what exports deliver, what carries them. */
export class Overview extends Construct {
  constructor(scope: Construct, id: string, { stage, measured, alarms }: OverviewProps) {
    super(scope, id);
    const { own, api, table, throttled, everyFunction, machines, sender } = measured;
    new Dashboard(this, 'Dashboard', {
      // Dashboards are the account's, in all Regions together.
      dashboardName: `workspaces-${stage.name}-${Aws.REGION}`,
      widgets: [
        [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 24, height: 3 })],
        [
          graph('Requests', [api('Count', 'Sum'), api('4XXError', 'Sum'), api('5XXError', 'Sum')]),
          graph('Time to an answer (ms)', [api('Latency', 'p50'), api('Latency', 'p99')]),
          graph('Keys refused', [own('KeysRefused', 'Sum')]),
        ],
        [
          graph(
            'Runs',
            [own('RunsCompleted', 'Sum'), own('RunsFailed', 'Sum')],
            [own('BackOffs', 'Sum'), own('ExecutionsQueued', 'Sum')],
          ),
          graph('Delivered', [own('RowsDelivered', 'Sum')], [own('BytesDelivered', 'Sum')]),
          graph('From the end of an interval to its delivery (s)', [
            own('DeliveryLag', 'p50'),
            own('DeliveryLag', 'Maximum'),
          ]),
        ],
        [
          graph('Oldest due job (s)', [own('OldestDueJob', 'Maximum')], [own('JobsParked', 'Sum')]),
          graph(
            'Executions',
            machines.map((machine) => machine.metricStarted()),
            machines.map((machine) => machine.metricFailed()),
          ),
          graph('Time to send an interval (ms)', [
            sender.metricDuration({ statistic: 'p50' }),
            sender.metricDuration({ statistic: 'Maximum' }),
          ]),
        ],
        [
          graph(
            'Captured events',
            [own('EventsAccepted', 'Sum'), own('EventsRefused', 'Sum')],
            [own('SegmentsDamaged', 'Sum')],
          ),
          graph(
            'Landed events',
            [own('EventsLanded', 'Sum'), own('EventsKnown', 'Sum')],
            [own('InboxBytes', 'Maximum')],
          ),
          graph('From the arrival of an event to its landing (s)', [
            own('LandingDelay', 'p50'),
            own('LandingDelay', 'Maximum'),
          ]),
        ],
        [
          graph('Table: capacity', [table('ConsumedReadCapacityUnits'), table('ConsumedWriteCapacityUnits')]),
          graph('Table: throttled', Object.values(throttled())),
          graph('Functions of the account', [everyFunction('ConcurrentExecutions')], [everyFunction('Throttles')]),
        ],
      ],
    });
  }
}
