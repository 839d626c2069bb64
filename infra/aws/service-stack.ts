import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { flattenCfnReference } from 'cdk-nag/lib/utils/flatten-cfn-reference.js';
import type { Construct } from 'constructs';
import { ORDER_WAITS_MS } from '../../lib/insights/answering/query-orders.ts';
import { Alarms } from './constructs/alarms.ts';
import { Api } from './constructs/api.ts';
import { Firewall } from './constructs/firewall.ts';
import { Functions } from './constructs/functions.ts';
import { CaptureStream } from './constructs/inbox.ts';
import { measured as measuredOf } from './constructs/measured.ts';
import { Overview } from './constructs/overview.ts';
import { explainWildcards } from './constructs/permissions.ts';
import { machineArns, Workflows } from './constructs/workflows.ts';
import { type DataStack, QUERY_RESULTS } from './data-stack.ts';
import { FUNCTIONS, queryTurnsOf, reservedOf } from './functions.ts';
import { concurrencyOf, type StageOptions } from './options.ts';
import { type Stage, tagsOf } from './stages.ts';

interface ServiceStackProps {
  readonly stage: Stage;
  readonly options: StageOptions;
  readonly data: DataStack;
  /** Where a function's bundle is. */
  readonly folder: (name: string) => string;
}

/** What they write leads to the console. */
const MESSAGE_WRITERS = ['steps/check-alert', 'steps/compose-subscription'];

/** What can be rebuilt at any time: API, functions, state machines, the tick, and what watches them. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, { stage: own, options, data, folder }: ServiceStackProps) {
    super(scope, id, {
      description: `Workspaces (${own.name}): what can be rebuilt`,
      tags: tagsOf(own),
      // CloudFormation counts blanks in the 1 MB that a template may have, and here they would be a third of it.
      suppressTemplateIndentation: true,
    });
    const { mailFrom = null, domain } = options;
    const publicUrl = domain === undefined ? own.settings.publicUrl : `https://${domain.name}`;
    const concurrency = concurrencyOf(options, own);
    const queryTurns = queryTurnsOf(own.settings.queryTurns, concurrency);
    const stage: Stage = { ...own, settings: { ...own.settings, mailFrom, publicUrl, queryTurns } };
    this.addStackDependency(data);

    const workGroupOf = (logicalId: string, name: string, folder: string, mostBytes?: number): string => {
      new CfnWorkGroup(this, logicalId, {
        name,
        recursiveDeleteOption: true,
        workGroupConfiguration: {
          enforceWorkGroupConfiguration: true,
          publishCloudWatchMetricsEnabled: true,
          ...(mostBytes === undefined ? {} : { bytesScannedCutoffPerQuery: mostBytes }),
          resultConfiguration: {
            outputLocation: `s3://${data.runFilesBucket}/${folder}`,
            encryptionConfiguration: { encryptionOption: 'SSE_S3' },
          },
        },
      });
      return name;
    };
    const workGroup = workGroupOf('WorkGroup', `workspaces-${stage.name}`, 'athena/');
    // Of its own, so that what is asked never stands in the way of exports, and costs no more than this.
    const queryWorkGroup = workGroupOf(
      'QueryWorkGroup',
      `workspaces-${stage.name}-queries`,
      QUERY_RESULTS,
      stage.settings.queryBytes?.athena,
    );

    const machines = machineArns(this, stage);
    const eventBus = this.formatArn({ service: 'events', resource: 'event-bus', resourceName: 'default' });
    const stream = new CaptureStream(this, 'Inbox', { stage, data });
    const functions = new Functions(this, 'Functions', {
      stage,
      data,
      workGroup,
      queryWorkGroup,
      eventBus,
      machines,
      inboxStream: stream.arn,
      mailResources: mailFrom === null ? [] : this.mailResourcesOf(mailFrom),
      concurrency,
      folder,
    });
    const functionNamed = functions.named.bind(functions);
    const workflows = new Workflows(this, 'Workflows', { stage, data, workGroup, machines, functionNamed });
    const ticking = new Role(this, 'TickCaller', { assumedBy: new ServicePrincipal('scheduler.amazonaws.com') });
    const tick = functionNamed('tick');
    // A tick that is lost, or could not begin in time, is made up for by the next one.
    tick.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) });
    // What is ordered while as many run as may waits its turn. What has failed has been told so: nothing is tried twice.
    const queryRunner = functionNamed('run-queries');
    queryRunner.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.millis(ORDER_WAITS_MS) });
    new Schedule(this, 'Tick', {
      description: 'Starts what is due',
      schedule: ScheduleExpression.rate(Duration.minutes(1)),
      target: new LambdaInvoke(tick, { retryAttempts: 0, role: ticking }),
    });
    const versions = flattenCfnReference(this.resolve(`${tick.functionArn}:*`));
    explainWildcards(ticking, [versions], 'Any version of the one function.');
    const api = new Api(this, 'Api', { stage, domain: options.domain, functionNamed });
    // The API is made of its functions, which cannot be told where it is; those of messages are none of them.
    if (publicUrl === null)
      for (const name of MESSAGE_WRITERS) functions.tell(name, { ...stage.settings, publicUrl: api.defaultUrl });
    const { requestsPerKey } = stage.settings;
    if (stage.hasFirewall && requestsPerKey !== null)
      new Firewall(this, 'Firewall', { stage, requestsPerKey, api: api.restApi });

    const measured = measuredOf({
      stage,
      apiName: api.name,
      tableName: data.tableName,
      streamName: stream.name,
      machines: workflows.machines,
      unsettled: workflows.unsettled,
      functions: [tick, functionNamed('steps/execution-ended'), queryRunner],
      sender: functionNamed('steps/send-interval'),
      capture: functionNamed('capture'),
      apart: FUNCTIONS.filter((spec) => reservedOf(spec, concurrency) !== undefined).map(({ name }) =>
        functionNamed(name),
      ),
      queries: [...['waited', 'background'].map((name) => functionNamed(`lake-worker/${name}`)), queryRunner],
    });
    const { all: alarms } = new Alarms(this, 'Alarms', { stage, options, measured });
    new Overview(this, 'Overview', { stage, measured, alarms });

    new CfnOutput(this, 'Address', { value: api.url, description: 'Where the API is served' });
    if (api.domainTarget !== undefined) {
      new CfnOutput(this, 'DomainTarget', {
        value: api.domainTarget,
        description: `Where the DNS record of ${options.domain?.name} must point: an alias or a CNAME`,
      });
    }
  }
  /**
   * Returns the ARNs that whoever sends mail must be allowed: those under which SES may know the sender, by its address and
   * by the domain of that, and the configuration set that it may have by default, as SES's own first steps set it up
   * (https://github.com/medplum/medplum/pull/10102).
   */
  private mailResourcesOf(sender: string): string[] {
    const identities = [sender, sender.slice(sender.lastIndexOf('@') + 1)].map((name) => ['identity', name] as const);
    return [...identities, ['configuration-set', '*'] as const].map(([resource, resourceName]) =>
      this.formatArn({ service: 'ses', resource, resourceName }),
    );
  }
}
