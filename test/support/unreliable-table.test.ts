import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { Busy, type Op } from '../../lib/ports/table/table.ts';
import { settableClock } from './context.ts';
import { seeded } from './random.ts';
import { type Unreliability, unreliable } from './unreliable-table.ts';

function open(vices: Partial<Unreliability>) {
  const clock = settableClock();
  const table = sqliteTable(':memory:', { clock });
  return { table, wrapped: unreliable(table, { random: seeded(1), clock, ...vices }) };
}

const put = (at: number): Op => ({ put: { pk: `${at}`, sk: 'x', at, first_pk: 'F', first_sk: `${at}` } });
const range = { index: 'first', partition: 'F' } as const;

describe('an unreliable table', () => {
  test('shows changes late in its indexes, never in the table, and all of them once it settles', async () => {
    const { table, wrapped } = open({ lag: 0.7 });
    const seen: number[] = [];
    for (let at = 0; at < 20; at += 1) {
      await wrapped.write([put(at)]);
      expect(await wrapped.get({ pk: `${at}`, sk: 'x' })).toMatchObject({ at });
      seen.push((await wrapped.list(range, { limit: 100 })).items.length);
    }
    expect(seen.some((n, at) => n <= at)).toBe(true);
    await wrapped.settle();
    expect(await wrapped.list(range, { limit: 7, skip: 3, count: true })).toEqual(
      await table.list(range, { limit: 7, skip: 3, count: true }),
    );
    await wrapped.write([{ remove: { pk: '3', sk: 'x' } }]);
    await wrapped.heal();
    expect((await wrapped.list(range, { limit: 100 })).items).toHaveLength(19);
  });

  test('is busy without writing, or loses the answer after it', async () => {
    const busy = open({ busy: 1 });
    await expect(busy.wrapped.write([put(1)])).rejects.toThrow(Busy);
    expect(await busy.table.get({ pk: '1', sk: 'x' })).toBeUndefined();

    const lost = open({ lost: 1 });
    await expect(lost.wrapped.write([put(1)])).rejects.toThrow(Busy);
    expect(await lost.table.get({ pk: '1', sk: 'x' })).toMatchObject({ at: 1 });
    await lost.wrapped.heal();
    await lost.wrapped.write([put(2)]);
    expect((await lost.wrapped.list(range, { limit: 9 })).items.map(({ at }) => at)).toEqual([1, 2]);
  });
});
