import { dashboards } from '../../support/dashboards.ts';

test('a dashboard is never removed: 405 without a body, for every number, and nothing changes', async () => {
  const { dashboard, found, call } = await dashboards();
  const made = await dashboard();
  for (const id of [made.id, 999, 'nonsense', '@x']) {
    const { status, body, headers } = await call('DELETE', `/dashboards/${id}/`);
    expect({ status, body }).toEqual({ status: 405, body: undefined });
    expect(headers.get('allow')).toBe('GET, HEAD, PATCH');
    expect(headers.get('content-type')).toBeNull();
  }
  expect(await found(made.id)).toEqual(made);
});
