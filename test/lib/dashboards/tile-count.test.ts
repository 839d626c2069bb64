/** Tiles of more than one transaction: their count stays right, or is set right, whatever happens between two of them. */
import { keys } from '../../../lib/ports/table/keys.ts';
import { Busy } from '../../../lib/ports/table/table.ts';
import { testContext } from '../../support/context.ts';
import { bad, dashboards, told } from '../../support/dashboards.ts';
import { watchWrites } from '../../support/table-override.ts';

const texts = (count: number) => Array.from({ length: count }, () => ({ text: { body: 'x' } }));

/** A service in which a test acts, or fails, before the n-th write of tiles from now on. */
async function world() {
  const context = testContext();
  let before: (nth: number) => Promise<void> | void = () => {};
  let nth = 0;
  const table = watchWrites(context.table, async (ops) => {
    const isOfTiles = ops.some((op) => ('put' in op && 'layouts' in op.put) || 'remove' in op);
    if (isOfTiles) await before(++nth);
  });
  let isDead = false;
  const dying = watchWrites(table, () => {
    if (isDead) throw new Error('the process is dead');
  });
  const opened = await dashboards(dying);
  const patch = async (id: number, body: object) => told(await opened.call('PATCH', `/dashboards/${id}/`, body));
  const arm = (act: typeof before) => {
    nth = 0;
    before = act;
  };
  return {
    ...opened,
    patch,
    arm,
    /** Makes a change whose process dies before the n-th write of tiles. */
    cutOff: async (id: number, body: object, at: number) => {
      arm((now) => {
        if (now !== at) return;
        isDead = true;
        throw new Error('the process dies here');
      });
      expect(await patch(id, body)).toMatchObject({ status: 500 });
      isDead = false;
      arm(() => {});
    },
    /** How many tiles are there, and how many count. */
    counts: async (id: number) => [
      (await opened.found(id)).tiles.length,
      (await context.table.get(keys.dashboard(opened.service.project.id, id)))?.tiles,
    ],
  };
}

test.each([
  ['is throttled', 429, new Busy('throttled')],
  ['fails', 500, new Error('broken')],
])('a change that %s between two transactions gives the rest of its room back', async (_, status, error) => {
  const { dashboard, patch, arm, counts } = await world();
  const { id } = await dashboard();
  arm((nth) => {
    if (nth === 2) throw error;
  });
  expect((await patch(id, { tiles: texts(250) })).status).toBe(status);
  expect(await counts(id)).toEqual([90, 90]);
});

test('tiles of a change that died count for a minute; then any change of tiles counts what is there', async () => {
  const { context, call, dashboard, found, insight, patch, cutOff, counts } = await world();
  const ways: readonly ((id: number) => Promise<number>)[] = [
    async (id) => (await patch(id, { tiles: texts(1) })).status,
    async (id) => (await call('PATCH', `/insights/${(await insight()).id}/`, { dashboards: [id] })).status,
    async (id) => {
      const from = await dashboard({ tiles: texts(1) });
      const body = { tile: from.tiles[0], toDashboard: id };
      return (await call('PATCH', `/dashboards/${from.id}/move_tile/`, body)).status;
    },
  ];
  for (const putOne of ways) {
    const { id } = await dashboard({ tiles: texts(250) });
    await cutOff(id, { tiles: texts(250) }, 2);
    expect(await counts(id)).toEqual([340, 500]);
    context.clock.advance(59_999);
    expect(await patch(id, { tiles: texts(1) })).toEqual(bad('A dashboard may have at most 500 tiles.', 'tiles'));
    expect(await putOne(id)).toBe(400);
    context.clock.advance(1);
    expect(await putOne(id)).toBe(200);
    expect(await counts(id)).toEqual([341, 341]);
  }
  const { id } = await dashboard({ tiles: texts(250) });
  const gone = (await found(id)).tiles.map((tile) => ({ id: tile.id, deleted: true }));
  await cutOff(id, { tiles: gone }, 2);
  expect(await counts(id)).toEqual([160, 0]);
  context.clock.advance(60_000);
  expect((await patch(id, { name: 'Renamed' })).status).toBe(200);
  expect(await counts(id)).toEqual([160, 160]);
});

test('a change that stood still so long that its room was taken stops with a conflict, and takes none from others', async () => {
  const { context, dashboard, patch, arm, counts } = await world();
  const { id } = await dashboard();
  arm(async (nth) => {
    if (nth !== 2) return;
    context.clock.advance(60_000);
    expect((await patch(id, { tiles: texts(1) })).status).toBe(200);
  });
  expect((await patch(id, { tiles: texts(250) })).status).toBe(409);
  expect(await counts(id)).toEqual([91, 91]);
});

test('a change that goes on keeps its room, however long it takes in all', async () => {
  const { context, dashboard, patch, arm, counts } = await world();
  const { id } = await dashboard();
  let [groups, isOther] = [0, false];
  arm(async () => {
    if (isOther || ++groups === 1) return;
    isOther = true;
    context.clock.advance(29_999);
    expect((await patch(id, { tiles: texts(1) })).status).toBe(200);
    isOther = false;
  });
  expect((await patch(id, { tiles: texts(300) })).status).toBe(200);
  arm(() => {});
  expect(await counts(id)).toEqual([303, 303]);
});

describe('an insight that comes with many others', () => {
  async function withInsights() {
    const opened = await world();
    const ids: number[] = [];
    for (let left = 100; left > 0; left--) ids.push((await opened.insight()).id);
    const { id } = await opened.dashboard();
    return { ...opened, id, tiles: ids.map((insight) => ({ insight })), last: ids.at(-1) ?? 0 };
  }

  test('is not put there again when somebody else puts it there in between: that is a conflict, and may be repeated', async () => {
    const { id, tiles, last, patch, arm, counts, found } = await withInsights();
    let between = 0;
    arm(async (nth) => {
      if (nth === 2) between = (await patch(id, { tiles: [{ insight: last }] })).status;
    });
    expect((await patch(id, { tiles })).status).toBe(409);
    expect(between).toBe(200);
    expect(await counts(id)).toEqual([91, 91]);
    expect((await patch(id, { tiles })).status).toBe(200);
    expect(new Set((await found(id)).tiles.map(({ insight }) => insight?.id)).size).toBe(100);
    expect(await counts(id)).toEqual([100, 100]);
  });

  test('is put there though somebody else changes something else in between', async () => {
    const { id, tiles, patch, arm, counts } = await withInsights();
    let between = 0;
    arm(async (nth) => {
      if (nth === 2) between = (await patch(id, { name: 'Renamed', tiles: texts(1) })).status;
    });
    expect((await patch(id, { tiles })).status).toBe(200);
    expect(between).toBe(200);
    expect(await counts(id)).toEqual([101, 101]);
  });
});
