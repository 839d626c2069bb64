import { pathMatcher } from '../../../../infra/local/gateway/path-matcher.ts';
import { type Method, type RestApi, serveRestApi } from '../../../../infra/local/gateway/rest-api.ts';
import { GATEWAY_RESPONSES } from '../../../../lib/http/gateway-responses.ts';
import { testContext } from '../../../support/context.ts';
import { onEnd } from '../../../support/on-end.ts';

/** A server of one path, whose answers of its own are their types. */
async function served(call: Method['call'] = async () => ({ statusCode: 200, body: '"there"' })) {
  const { clock, log } = testContext();
  const own = Object.keys(GATEWAY_RESPONSES).map((type) => [
    type,
    { status: 400, headers: {}, template: JSON.stringify(type) },
  ]);
  const api: RestApi = {
    arn: 'arn:aws:execute-api:here:1:api',
    stage: 'dev',
    prefixed: true,
    isBinary: true,
    match: pathMatcher(['/there']),
    methodOf: () => ({
      isPublic: true,
      function: 'there',
      call,
    }),
    authorizer: () => Promise.reject(new Error('nobody asks')),
    responses: Object.fromEntries(own) as RestApi['responses'],
  };
  const gateway = await serveRestApi(api, { host: '127.0.0.1', port: 0, clock, log, rateLimit: null });
  onEnd(() => gateway.close());
  return (path: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.address}${path}`, { headers }).then((answer) => answer.json());
}

test('a path that is not there is answered as API Gateway does: by whether a key looks like a signature of AWS', async () => {
  const ask = await served();
  const key = { Authorization: 'Bearer phx_1' };
  expect(await ask('/dev/there', key)).toBe('there');
  for (const path of ['/dev/nowhere', '/prod/there']) {
    expect(await ask(path)).toBe('MISSING_AUTHENTICATION_TOKEN');
    expect(await ask(path, key)).toBe('INVALID_SIGNATURE');
  }
});

test('a function that fails is a mistake of ours, and no reason to come again as one that could not be begun', async () => {
  const ask = await served(() => Promise.reject(new Error('broken')));
  expect(await ask('/dev/there')).toBe('API_CONFIGURATION_ERROR');
});
