import { GATEWAY_RESPONSES } from '../../../lib/http/gateway-responses.ts';
import { BODY_HEADERS } from '../../../lib/http/header.ts';

test.each(Object.entries(GATEWAY_RESPONSES))('%s has the four fields and the headers of every error', (_, given) => {
  const { template, headers } = given;
  expect(headers).toMatchObject(BODY_HEADERS);
  const body: unknown = JSON.parse(template.replaceAll(/\$context\.authorizer\.\w+/g, 'text'));
  expect(Object.keys(body as object)).toEqual(['type', 'code', 'detail', 'attr']);
});

test.each([
  ['UNAUTHORIZED', 401, 'Authentication credentials were not provided or are invalid.'],
  ['ACCESS_DENIED', 403, '$context.authorizer.detail'],
  // What a path that is not there gives: without a key, with one, and with what looks like a signature of AWS.
  ['MISSING_AUTHENTICATION_TOKEN', 404, 'Endpoint not found.'],
  ['INVALID_SIGNATURE', 404, 'Endpoint not found.'],
  ['EXPIRED_TOKEN', 404, 'Endpoint not found.'],
  ['REQUEST_TOO_LARGE', 413, 'The request body is larger than 1 MiB.'],
  ['THROTTLED', 429, 'Request was throttled.'],
  ['AUTHORIZER_FAILURE', 500, 'A server error occurred.'],
  ['INTEGRATION_TIMEOUT', 504, 'The request took too long.'],
] as const)('%s is %d: %s', (type, status, detail) => {
  expect(GATEWAY_RESPONSES[type]).toMatchObject({ status });
  expect(JSON.parse(GATEWAY_RESPONSES[type].template)).toMatchObject({ detail, attr: null });
});

test('a caller who is throttled is told when to come back', () => {
  expect(GATEWAY_RESPONSES.THROTTLED.headers).toEqual({ ...BODY_HEADERS, 'Retry-After': '1' });
});
