import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { AUTHORIZER_TTL_MS, authorizerCache } from '../../../../infra/local/gateway/authorizer-cache.ts';
import { settableClock } from '../../../support/context.ts';

const event = { type: 'REQUEST' } as APIGatewayRequestAuthorizerEvent;
const answer = (
  Statement: APIGatewayAuthorizerResult['policyDocument']['Statement'],
  context: Record<string, unknown> = {},
) =>
  ({ principalId: 'me', policyDocument: { Version: '2012-10-17', Statement }, context }) as APIGatewayAuthorizerResult;
const statement = (Effect: 'Allow' | 'Deny', Resource: string | string[]) => ({
  Action: 'execute-api:Invoke',
  Effect,
  Resource,
});

/** A cache over an authorizer that counts how often it is asked. */
function counting(answers: () => APIGatewayAuthorizerResult) {
  const clock = settableClock();
  const asked = { times: 0 };
  const authorized = authorizerCache(async () => {
    asked.times += 1;
    return answers();
  }, clock);
  return { clock, asked, ask: async (identity = 'one') => authorized(identity, () => event) };
}

test.each(['Allow', 'Deny'] as const)('an answer that says %s is kept for a minute', async (effect) => {
  const { clock, asked, ask } = counting(() => answer([statement(effect, 'arn/*')]));
  await ask();
  clock.advance(AUTHORIZER_TTL_MS - 1);
  expect((await ask()).permits('arn/x')).toBe(effect === 'Allow');
  expect(asked.times).toBe(1);
  clock.advance(1);
  await ask();
  expect(asked.times).toBe(2);
});

test('an answer is not kept for longer when the clock is set back', async () => {
  const { clock, asked, ask } = counting(() => answer([statement('Allow', 'arn/*')]));
  await ask();
  clock.set(clock() - AUTHORIZER_TTL_MS);
  await ask();
  expect(asked.times).toBe(2);
});

test('others are asked for by themselves', async () => {
  const { asked, ask } = counting(() => answer([statement('Allow', 'arn/*')]));
  await ask('one');
  await ask('two');
  await ask('one');
  expect(asked.times).toBe(2);
});

test('what the authorizer throws is not kept', async () => {
  const { asked, ask } = counting(() => {
    throw new Error('Unauthorized');
  });
  await expect(ask()).rejects.toThrow('Unauthorized');
  await expect(ask()).rejects.toThrow('Unauthorized');
  expect(asked.times).toBe(2);
});

test('at most ten thousand answers are kept; the oldest goes first', async () => {
  const { asked, ask } = counting(() => answer([statement('Allow', 'arn/*')]));
  for (let n = 0; n <= 10_000; n++) await ask(`caller ${n}`);
  expect(asked.times).toBe(10_001);
  await ask('caller 10000');
  await ask('caller 1');
  expect(asked.times).toBe(10_001);
  await ask('caller 0');
  expect(asked.times).toBe(10_002);
});

test.each([
  ['nothing said', [], false],
  ['another resource', [statement('Allow', 'arn/GET/a')], false],
  ['the resource', [statement('Allow', 'arn/GET/b')], true],
  ['one of several', [statement('Allow', ['arn/GET/a', 'arn/GET/*'])], true],
  ['the beginning without a star', [statement('Allow', 'arn/GET/')], false],
  ['Deny beside Allow', [statement('Allow', 'arn/*'), statement('Deny', 'arn/GET/*')], false],
])('of a request to arn/GET/b with %s: %j', async (_, statements, isPermitted) => {
  const { ask } = counting(() => answer(statements));
  expect((await ask()).permits('arn/GET/b')).toBe(isPermitted);
});

test('numbers and booleans become text, as at API Gateway; anything else is an error', async () => {
  const { ask } = counting(() => answer([], { text: 'a', number: 1, boolean: true }));
  expect((await ask()).context).toEqual({ principalId: 'me', text: 'a', number: '1', boolean: 'true' });
  const lists = counting(() => answer([], { list: [] }));
  await expect(lists.ask()).rejects.toThrow('cannot carry: list');
});
