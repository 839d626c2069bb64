import { testContext } from '../../support/context.ts';
import { importRecords } from '../../support/imports.ts';
import { testService } from '../../support/service.ts';

const UUID = '01940000-0000-7000-8000-0000000000e1';

test('an event is found by its uuid, with every digit of its numbers and of its instant', async () => {
  const context = testContext();
  const service = await testService(context);
  const { id } = service.project;
  const sent = '{"uuid":"UUID","event":"paid","distinct_id":"ada","timestamp":"2025-12-01T10:00:00.123456Z",';
  const properties = '{"big":12345678901234567890,"__proto__":{"a":1}}';
  await importRecords(context, id, [`${sent.replace('UUID', UUID)}"properties":${properties}}`]);
  const reply = await service.call('GET', `/api/projects/${id}/events/${UUID.toUpperCase()}/`);
  expect(reply.body).toMatchObject({ id: UUID, event: 'paid', timestamp: '2025-12-01T10:00:00.123456Z' });
  expect(reply.text).toContain(`"properties":${properties}`);
  expect((await service.call('GET', `/api/projects/${id}/events/${UUID.replace('e1', 'e2')}/`)).status).toBe(404);
});
