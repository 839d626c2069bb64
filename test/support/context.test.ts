import { START, testContext } from './context.ts';

describe('the context of tests', () => {
  test('has ports that work', async () => {
    const context = testContext();
    const [item] = await context.table.write([{ put: { pk: 'A', sk: 'B', n: 1 } }]);
    expect(await context.table.get({ pk: 'A', sk: 'B' })).toEqual(item);

    await context.runFiles.write('a/b', 'text');
    expect(await context.runFiles.read('a/b')).toEqual(Buffer.from('text'));
    expect(await context.lake.read('a/b')).toBeUndefined();

    const belonging = { organization: 'o', batchExport: 'e' };
    expect(await context.vault.open(await context.vault.seal('secret', belonging), belonging)).toBe('secret');

    await context.workflow.start('purge', 'one', { a: 1 });
    await context.workflow.start('purge', 'one', { a: 2 });
    expect(context.workflow.started).toEqual([{ machine: 'purge', name: 'one', input: { a: 1 } }]);
    expect(await context.workflow.status('purge', 'one')).toBe('RUNNING');
  });

  test('has a clock that moves only when told, and ids in its order', () => {
    const context = testContext();
    const earlier = [context.newId(), context.newId()];
    expect(context.clock()).toBe(START);
    context.clock.advance(1);
    const later = context.newId();
    expect([...earlier, later]).toEqual([...earlier, later].toSorted());
    expect(later).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('keeps the log, and takes replacements', () => {
    const context = testContext({ newId: () => 'mine' });
    context.log.with({ a: 1 }).debug('said', { b: 'x' });
    expect(context.lines).toEqual([{ level: 'DEBUG', at: START, message: 'said', fields: { a: 1, b: 'x' } }]);
    expect(context.newId()).toBe('mine');
  });
});
