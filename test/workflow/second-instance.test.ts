/** The HTTP destination feeds another instance of the service, whichever moment the exporting one dies at. */
import { captureService, inLake } from '../support/capture.ts';
import type { Death } from '../support/engine-world.ts';
import { exportWorld } from '../support/export-world.ts';

const NOW = Date.UTC(2026, 0, 7, 13, 20);
const LATER = Date.UTC(2026, 0, 7, 14, 50);
/** Two batches. */
const COUNT = 5_010;
/** The instance that takes them adds `$ip` and what keeps it from being located. */
const SHOWN = ['uuid::VARCHAR', 'event', 'distinct_id', 'timestamp_us::DOUBLE', "properties ->> 'imports'"];

/** Exports an hour of events to another instance, dying once on the way; resolves to the events of both, and the acts. */
async function fed(death?: Death) {
  const receiver = await captureService();
  receiver.context.clock.set(NOW);
  const config = { url: `${receiver.service.address}/batch/`, token: receiver.token };
  const world = await exportWorld({ now: NOW, destination: { type: 'HTTP', config } });
  const tenant = await world.tenant();
  await world.createExport(world.context, tenant);
  await world.arrive(
    tenant.project.id,
    Array.from({ length: COUNT }, (_, n) => NOW - n),
  );
  const first = world.boot(death);
  const survived = await first.run(LATER);
  if (!survived) {
    const next = world.boot();
    await next.engine.resume();
    await next.run(LATER);
  }
  await receiver.landed('uuid');
  const columns = async (context: Parameters<typeof inLake>[0], project: number) =>
    Promise.all(SHOWN.map((column) => inLake(context, project, column)));
  const sent = await columns(world.context, tenant.project.id);
  const taken = await columns(receiver.context, receiver.service.project.id);
  await world.close();
  return { sent, taken, trace: first.trace, survived };
}

test('each event is there once, as it was, also when the exporter dies between the batches, or before it notes one', async () => {
  const { sent, taken, trace } = await fed();
  expect(taken[0]).toHaveLength(COUNT);
  expect(taken).toEqual(sent);
  const posts = trace.flatMap((act, n) => (act === 'request POST' ? [n + 1] : []));
  expect(posts).toHaveLength(2);
  for (const [at, when] of [
    [posts[0], 'after'],
    [posts[1], 'after'],
  ] as const) {
    const killed = await fed({ at: at ?? 0, when });
    expect(killed.survived).toBe(false);
    expect(killed.taken).toEqual(killed.sent);
  }
});
