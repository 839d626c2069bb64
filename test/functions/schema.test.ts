import { testContext } from '../support/context.ts';
import { onEnd } from '../support/on-end.ts';
import { testService } from '../support/service.ts';

test('the description of the API is open to everybody, as JSON', async () => {
  const service = await testService(testContext());
  for (const path of ['/api/schema/', '/api/schema', '/api/schema/?format=json']) {
    const { status, headers, body } = await service.call('GET', path, { key: null });
    expect({ status, type: headers.get('content-type'), version: body?.['openapi'] }).toEqual({
      status: 200,
      type: 'application/json',
      version: '3.1.0',
    });
    expect(body?.['paths']).toHaveProperty(['/api/schema/', 'get', 'operationId'], 'schema');
  }
});

test('it is written once, however often it is asked for', async () => {
  const service = await testService(testContext());
  const first = await service.call('GET', '/api/schema/', { key: null });
  const stringify = jest.spyOn(JSON, 'stringify');
  onEnd(() => stringify.mockRestore());
  const second = await service.call('GET', '/api/schema/', { key: null });
  expect(second.text).toBe(first.text);
  const written = stringify.mock.results.filter(({ value }) => String(value).length > 100_000);
  expect(written).toHaveLength(0);
});

test('there is no other format', async () => {
  const service = await testService(testContext());
  const { status, body } = await service.call('GET', '/api/schema/?format=yaml', { key: null });
  expect({ status, attr: body?.['attr'], code: body?.['code'] }).toEqual({
    status: 400,
    attr: 'format',
    code: 'invalid_choice',
  });
});
