import {
  CloudFormationClient,
  CloudFormationServiceException,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import {
  checkAddress,
  checkBootstrap,
  checkConcurrency,
  checkDataLayout,
  resourcesOf,
} from '../../../infra/aws/account.ts';
import { stageNamed } from '../../../infra/aws/stages.ts';
import { noteDataLayout } from '../../../lib/ports/table/data-layout.ts';
import { sqliteTable } from '../../../lib/ports/table/sqlite.ts';
import { onEnd } from '../../support/on-end.ts';

const refusal = (name: string, message: string) =>
  new CloudFormationServiceException({ name, message, $fault: 'client', $metadata: {} });

/** CloudFormation, which nothing here can serve, with one answer to every question. */
function answering(answer: object | Error) {
  const client = new CloudFormationClient({ region: 'eu-central-1' });
  const mock = mockClient(client).on(DescribeStacksCommand);
  if (answer instanceof Error) mock.rejects(answer);
  else
    mock.resolves({
      Stacks: [{ StackName: 's', StackStatus: 'UPDATE_COMPLETE', CreationTime: new Date(0), ...answer }],
    });
  return client;
}

const dev = stageNamed('dev');

describe('what a shell finds in the account', () => {
  test('the names of a stage’s resources are what its data stack exports', async () => {
    const Outputs = [{ OutputKey: 'x', ExportName: 'workspaces-dev-data-table', OutputValue: 'the-table' }];
    const resource = await resourcesOf(dev, answering({ Outputs }));
    expect(resource('table')).toBe('the-table');
    expect(() => resource('lake')).toThrow('The stack workspaces-dev-data does not export its lake: deploy it again.');
  });

  test('a restored table is used instead of the stack’s own', async () => {
    const Outputs = ['table', 'restored-table'].map((what) => ({
      OutputKey: what,
      ExportName: `workspaces-dev-data-${what}`,
      OutputValue: what,
    }));
    expect((await resourcesOf(dev, answering({ Outputs })))('table')).toBe('restored-table');
  });

  test('an account that may run too few functions at once for what a stage sets apart is told of it', async () => {
    const mayRun = (ConcurrentExecutions: number) => {
      const client = new LambdaClient({ region: 'eu-central-1' });
      mockClient(client).on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions } });
      return client;
    };
    await expect(checkConcurrency(502, mayRun(1_000))).resolves.toBeUndefined();
    await expect(checkConcurrency(502, mayRun(602))).resolves.toBeUndefined();
    await expect(checkConcurrency(0, mayRun(10))).resolves.toBeUndefined();
    const denied = new LambdaClient({ region: 'eu-central-1' });
    mockClient(denied).on(GetAccountSettingsCommand).rejects(refusal('AccessDeniedException', 'not authorized'));
    await expect(checkConcurrency(502, denied)).resolves.toBeUndefined();
    await expect(checkConcurrency(502, mayRun(10))).rejects.toThrow(
      /^This account may run 10 functions at once in this Region, and the stage sets 502 apart, .*concurrency in cdk\.json/,
    );
  });

  test('a deploy that would close the one address by which a stage is reached is told how to go there in two steps', async () => {
    const output = (OutputKey: string, OutputValue: string) => ({ OutputKey, OutputValue });
    const address = output('Address', 'https://abc123.execute-api.eu-central-1.amazonaws.com/dev/');
    const domain = { name: 'api.example.com', certificateArn: 'arn', defaultAddress: 'closed' } as const;
    const check = (own: typeof domain | { defaultAddress: 'open' } | undefined, answer: object | Error) =>
      checkAddress(dev, own === undefined ? {} : { domain: { ...domain, ...own } }, answering(answer));
    const here = { Outputs: [address] };
    await expect(check(undefined, here)).resolves.toBeUndefined();
    await expect(check({ defaultAddress: 'open' }, here)).resolves.toBeUndefined();
    await expect(check(domain, { Outputs: [address, output('DomainTarget', 'd-1')] })).resolves.toBeUndefined();
    const absent = refusal('ValidationError', 'Stack with id workspaces-dev-service does not exist');
    await expect(check(domain, absent)).resolves.toBeUndefined();
    // Whose first deploy failed.
    for (const StackStatus of ['ROLLBACK_COMPLETE', 'REVIEW_IN_PROGRESS'])
      await expect(check(domain, { StackStatus })).resolves.toBeUndefined();
    await expect(check(domain, here)).rejects.toThrow(
      /^The stage dev is reached at https:\/\/abc123\S+, which this deploy would close, .* "defaultAddress": "open" .*cdk\.json/,
    );
  });

  test('a deploy over data of a layout that it does not know is told so by numbers', async () => {
    const table = sqliteTable(':memory:', { clock: () => 0 });
    onEnd(() => table.close());
    const asked: string[] = [];
    const open = (name: string) => {
      asked.push(name);
      return table;
    };
    const Outputs = [{ OutputKey: 'x', ExportName: 'workspaces-dev-data-table', OutputValue: 'own' }];
    const check = (options = {}, answer: object | Error = { Outputs }) =>
      checkDataLayout(dev, options, { client: answering(answer), open, known: { from: 4, to: 5 } });
    // A stage that is not there, and one that no version has noted in.
    await check({}, refusal('ValidationError', 'Stack with id workspaces-dev-data does not exist'));
    await check();
    await noteDataLayout(table, 3);
    await expect(check()).rejects.toThrow(
      'The data of the stage dev has layout 3, and this version can go on with none before 4 (docs/deploy.md, "Upgrade").',
    );
    await noteDataLayout(table, 5);
    await check({ restoredTable: 'restored' });
    await noteDataLayout(table, 6);
    await expect(check()).rejects.toThrow(
      'The stage dev was last used by a newer version: its data has layout 6, and this version knows layouts up to 5. ' +
        'Deploy the newer one, or name a table that was restored as of before it (docs/deploy.md, "Go back to an earlier version").',
    );
    expect(asked).toEqual(['own', 'own', 'restored', 'own']);
  });

  test('a deploy by somebody who may not read the table goes on, and one onto a table that is not there does not', async () => {
    const failing = (name: string) => () => ({ get: () => Promise.reject(refusal(name, 'no')) });
    const check = (name: string) =>
      checkDataLayout(dev, { restoredTable: 'gone' }, { client: answering({ Outputs: [] }), open: failing(name) });
    await check('AccessDeniedException');
    await expect(check('ResourceNotFoundException')).rejects.toThrow(
      'There is no table gone in this account and Region.',
    );
  });

  test('an account that is prepared for CDK passes', async () => {
    await expect(checkBootstrap(answering({ Outputs: [] }))).resolves.toBeUndefined();
  });

  test.each([
    [
      refusal('ValidationError', 'Stack with id CDKToolkit does not exist'),
      'This account and Region are not prepared for CDK: run npx cdk bootstrap.',
    ],
    [
      Object.assign(new Error('Could not load credentials from any providers'), { name: 'CredentialsProviderError' }),
      'There are no AWS credentials in this shell: sign in, for example with aws sso login or aws configure.',
    ],
    [refusal('ExpiredToken', 'expired'), 'AWS does not accept the credentials of this shell: sign in again.'],
    [new Error('Region is missing'), 'No Region is chosen: set AWS_REGION, for example to eu-central-1.'],
    [
      refusal('AccessDenied', 'not authorized to perform: cloudformation:DescribeStacks'),
      'The credentials of this shell may not look at stacks: not authorized to perform: cloudformation:DescribeStacks',
    ],
    [
      Object.assign(new Error('getaddrinfo ENOTFOUND cloudformation'), { code: 'ENOTFOUND' }),
      'AWS cannot be reached from here: getaddrinfo ENOTFOUND cloudformation.',
    ],
  ])('what has to be done first is said in one sentence: %s', async (error, sentence) => {
    await expect(checkBootstrap(answering(error))).rejects.toThrow(sentence);
  });

  test('a stage that was never deployed is told how', async () => {
    const absent = refusal('ValidationError', 'Stack with id workspaces-dev-data does not exist');
    await expect(resourcesOf(dev, answering(absent))).rejects.toThrow(
      'The stage dev is not in this account and Region: deploy it with npm run deploy -- -c stage=dev.',
    );
  });

  test('anything else is not explained away', async () => {
    const other = refusal('InternalFailure', 'something');
    await expect(checkBootstrap(answering(other))).rejects.toBe(other);
  });
});
