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

test('a whole number that no double holds, which Python does not read, is null in what is answered of events and persons', async () => {
  const context = testContext();
  const service = await testService(context);
  const { id } = service.project;
  const held = `-${'9'.repeat(308)}`;
  const numbers = `"a":${'1'.repeat(5_000)},"b":[-${'9'.repeat(309)},1e400],"c":${held}`;
  const sent = `"uuid":"${UUID}","event":"paid","distinct_id":"ada","timestamp":"2025-12-01T10:00:00Z"`;
  await importRecords(context, id, [
    `{${sent},"properties":{${numbers},"$set":{${numbers},"name":${'1'.repeat(310)}}}}`,
  ]);
  const all = `"a":null,"b":[null,1e400],"c":${held}`;
  const event = await service.call('GET', `/api/projects/${id}/events/${UUID}/`);
  expect(event.text).toContain(`"properties":{${all},"$set":{${all},"name":null}}`);
  expect(event.text).toContain('"properties":{"name":null}');
  const persons = await service.call('GET', `/api/projects/${id}/persons/`);
  expect(persons.text).toContain(`"properties":{${all},"name":null}`);
});
