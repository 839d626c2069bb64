import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceAddress, tellAddress } from '../../../../infra/local/gateway/service-address.ts';
import { temporaryFolder } from '../../../support/context.ts';

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
  const environment = { WORKSPACE_HOME: temporaryFolder(), ...variables, WORKSPACE_KEY: 'phx_1' };
  expect(await serviceAddress(undefined, environment)).toEqual({ url, key: 'phx_1' });
});

test('the service of this machine is where its data directory tells, unless the variables say another place', async () => {
  const folder = temporaryFolder();
  const asked = async (variables: object) =>
    (await serviceAddress(undefined, { WORKSPACE_HOME: folder, WORKSPACE_KEY: 'phx_1', ...variables })).url;
  tellAddress(folder, 'http://127.0.0.1:8104');
  expect(await asked({})).toBe('http://127.0.0.1:8104');
  expect(await asked({ PORT: '8011' })).toBe('http://127.0.0.1:8011');
  expect(await asked({ PUBLIC_URL: 'https://analytics.example.com' })).toBe('https://analytics.example.com');
  const gone = spawnSync('true').pid;
  for (const told of ['', `http://127.0.0.1:8104 ${gone}\n`]) {
    writeFileSync(join(folder, 'service.address'), told);
    expect(await asked({})).toBe('http://127.0.0.1:8010');
  }
  expect(() => tellAddress(join(folder, 'gone'), 'http://127.0.0.1:8104')).not.toThrow();
});
