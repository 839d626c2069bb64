import { serviceAddress } from '../../../../infra/local/gateway/service-address.ts';

const url = 'https://analytics.example.com';

test('the key of the variable is taken without the blanks around it', async () => {
  expect(await serviceAddress(url, { WORKSPACE_KEY: ' phx_a\n' })).toEqual({ url, key: 'phx_a' });
});

test.each(['phx_a\n(Keep it: it is not shown again.)', 'phx_a b', 'phx_é', 'phx_€'])(
  'what cannot be a key is refused, and not repeated: %j',
  async (key) => {
    const refusal = await serviceAddress(url, { WORKSPACE_KEY: key }).catch((error: unknown) => error);
    expect(String(refusal)).toMatch(/^ServiceError: WORKSPACE_KEY is not a key, which is one word/);
    expect(String(refusal)).not.toContain(key);
  },
);

test.each([
  [{}, 'http://127.0.0.1:8010'],
  [{ HOST: '::1', PORT: '8011' }, 'http://[::1]:8011'],
  [{ HOST: '::1', PUBLIC_URL: 'https://analytics.example.com' }, 'https://analytics.example.com'],
])('the service of this machine is where the variables say: %j', async (variables, url) => {
  expect(await serviceAddress(undefined, { ...variables, WORKSPACE_KEY: 'phx_1' })).toEqual({ url, key: 'phx_1' });
});
