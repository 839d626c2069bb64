import { DAY_MS, MINUTE_MS } from '../../../../lib/basics/units.ts';
import type { BatchExportItem } from '../../../../lib/exports/records/model.ts';
import { keepTicket, queuedSince, ticketBackOps } from '../../../../lib/exports/runs/ticket.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { dynamodbTable } from '../../../../lib/ports/table/dynamodb.ts';
import type { Table } from '../../../../lib/ports/table/table.ts';
import { type SettableClock, START, settableClock, testContext } from '../../../support/context.ts';
import { createTable, describeOnDynamodb, dynamodbClient } from '../../../support/dynamodb-local.ts';

/** An organization that may have ten intervals under way, over a table. */
function organization(table?: Table, clock: SettableClock = settableClock()) {
  const settings = { ...LOCAL_SETTINGS, organizationIntervals: 10 };
  const context = testContext({ settings, clock, ...(table === undefined ? {} : { table }) });
  const item = (organization_id = 'o'): BatchExportItem => ({ id: 'e', organization_id }) as BatchExportItem;
  return {
    context,
    clock,
    ask: (execution: string, intervals = 4, of?: string) => queuedSince(context, item(of), execution, intervals),
    keep: (execution: string, intervals = 4) => keepTicket(context, item(), execution, intervals),
    giveBack: (execution: string) => context.table.write(ticketBackOps(context, item(), execution)),
  };
}

function promises(open: () => Promise<ReturnType<typeof organization>>) {
  test('lets executions deliver until the organization is full, and the others wait', async () => {
    const { ask } = await open();
    expect([await ask('a'), await ask('b'), await ask('c')]).toEqual([undefined, undefined, START]);
    // Whoever asks again has what it has.
    expect([await ask('a'), await ask('c')]).toEqual([undefined, START]);
    expect(await ask('of another organization', 4, 'p')).toBeUndefined();
  });

  test('lets them in by the order in which they asked, however small a later one is', async () => {
    const { ask, keep, giveBack, clock } = await open();
    for (const execution of ['b', 'a']) {
      expect(await ask(execution)).toBeUndefined();
      await keep(execution);
      clock.advance(1);
    }
    expect(await ask('z')).toBe(START + 2);
    clock.advance(1);
    expect(await ask('small', 1)).toBe(START + 3);
    await giveBack('a');
    expect(await ask('small', 1)).toBeUndefined();
    expect(await ask('z')).toBeUndefined();
    expect(await ask('y')).toBe(START + 3);
  });

  test('lets one in that is as large as the organization may be, or larger, once nothing is before it', async () => {
    const { ask, giveBack, clock } = await open();
    await ask('a');
    clock.advance(1);
    expect(await ask('large', 96)).toBe(START + 1);
    await giveBack('a');
    expect(await ask('large', 96)).toBeUndefined();
  });

  test('forgets who waited and does not ask any more after 5 minutes, who delivers and is never settled after a day', async () => {
    const { ask, keep, clock } = await open();
    await ask('a', 10);
    await keep('a', 10);
    clock.advance(1);
    await ask('dead', 10);
    clock.advance(1);
    expect(await ask('next')).toBe(START + 2);
    clock.advance(6 * MINUTE_MS);
    expect(await ask('next')).toBe(START + 2 + 6 * MINUTE_MS);
    clock.advance(DAY_MS);
    expect(await ask('next')).toBeUndefined();
  });

  test('never lets in many too many that ask in one moment', async () => {
    const { ask } = await open();
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(`e${n}`, 2)));
    const admitted = answers.filter((since) => since === undefined).length;
    expect(admitted).toBeGreaterThanOrEqual(5);
    const again = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(`e${n}`, 2)));
    expect(again.filter((since) => since === undefined)).toHaveLength(5);
  });
}

describe('tickets in SQLite', () => {
  promises(async () => organization());
});

describeOnDynamodb('tickets in DynamoDB', () => {
  promises(async () => {
    const client = await dynamodbClient();
    const clock = settableClock();
    return organization(dynamodbTable({ client, tableName: await createTable(client), clock }), clock);
  });
});

test('an execution that waits is told of once, and counted once', async () => {
  const { ask, context } = organization();
  await ask('a', 10);
  for (let n = 0; n < 3; n++) await ask('b');
  expect(context.lines.filter(({ fields }) => fields['ExecutionsQueued'] === 1)).toHaveLength(1);
});
