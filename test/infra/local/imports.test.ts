/** Imports by request as a person has them: the service in a process of its own, and the worker that it starts. */
import { temporaryFolder } from '../../support/context.ts';
import { type LocalService, startLocally } from '../../support/local-service.ts';

const EVENTS = 5_000;

const CONTENT = Array.from({ length: EVENTS }, (_, n) =>
  JSON.stringify({ event: 'paid', distinct_id: `u${n}`, timestamp: '2025-12-31T00:00:00Z', properties: { n } }),
).join('\n');

test('a service that is killed while it imports goes on when it is started again, and adds each event once', async () => {
  const folder = temporaryFolder();
  let service: LocalService = await startLocally(folder);
  const { key, project } = await service.welcome();
  const call = async (method: string, path: string, body?: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${service.address}/api/projects/${project}/${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as Record<string, unknown>;
  };
  const { id } = await call('POST', 'imports/', JSON.stringify({ name: 'events.jsonl', bytes: CONTENT.length }));
  await call('PUT', `imports/${String(id)}/content/`, CONTENT);
  await call('POST', `imports/${String(id)}/start/`, '{}');
  await service.line('an import has begun');
  await service.end('SIGKILL');

  service = await startLocally(folder);
  try {
    await service.line('an import has ended');
    const { added, known, ...ended } = await call('GET', `imports/${String(id)}/`);
    expect(ended).toMatchObject({ state: 'completed', attempts: 2, events: EVENTS, rejected: 0 });
    expect(Number(added) + Number(known)).toBe(EVENTS);
    const query = { kind: 'HogQLQuery', query: 'SELECT count(), count(DISTINCT uuid) FROM events' };
    const { results } = await call('POST', 'query/', JSON.stringify({ query, refresh: 'blocking' }));
    expect(results).toEqual([[EVENTS, EVENTS]]);
  } finally {
    await service.end('SIGTERM');
  }
});
