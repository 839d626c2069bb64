import { LineFull, Turns } from '../../../lib/workers/turns.ts';

/** Waits until all that can happen without time has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Takes turns for owners in the order given, and says in which order they were served. */
function standing(turns: Turns) {
  const served: string[] = [];
  const giveBack = new Map<string, () => void>();
  const take = (name: string, signal?: AbortSignal): Promise<void> =>
    turns.take(name.charAt(0), signal).then((release) => {
      served.push(name);
      giveBack.set(name, release);
    });
  return { served, take, end: async (name: string) => (giveBack.get(name)?.(), settled()) };
}

test('an owner with much work does not hold up one with little', async () => {
  const { served, take, end } = standing(new Turns({ atOnce: 2, each: 2 }));
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void take(name);
  void take('b1');
  await settled();
  expect(served).toEqual(['a1', 'a2']);
  await end('a1');
  expect(served.slice(2)).toEqual(['b1']);
  await end('a2');
  expect(served.slice(3)).toEqual(['a3']);
});

test('an owner leaves room for others, also when nobody waits', async () => {
  const { served, take, end } = standing(new Turns({ atOnce: 4, each: 2 }));
  for (const name of ['a1', 'a2', 'a3']) void take(name);
  await settled();
  expect(served).toEqual(['a1', 'a2']);
  void take('b1');
  await settled();
  expect(served).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  expect(served).toHaveLength(3);
  await end('a2');
  expect(served).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('owners who wait alike are served in turn', async () => {
  const { served, take, end } = standing(new Turns({ atOnce: 1, each: 1 }));
  for (const name of ['a1', 'b1', 'b2', 'a2', 'c1', 'a3']) void take(name);
  await settled();
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2']) await end(name);
  expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('whoever leaves is not served, and frees their place in the line', async () => {
  const turns = new Turns({ atOnce: 1, each: 1, waiting: { each: 1, all: 2, areStrangers: true } });
  const { served, take, end } = standing(turns);
  await take('a1');
  const leaving = new AbortController();
  const left = take('a2', leaving.signal);
  await expect(take('a3')).rejects.toBeInstanceOf(LineFull);
  void take('b1');
  await expect(take('c1')).rejects.toBeInstanceOf(LineFull);
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  void take('c2');
  await end('a1');
  await end('b1');
  expect(served).toEqual(['a1', 'b1', 'c2']);
});

test('owners who fill the line keep out none of whom nobody waits, and are refused themselves', async () => {
  const { served, take, end } = standing(new Turns({ atOnce: 1, each: 1, waiting: { each: 2, all: 3 } }));
  await take('a1');
  for (const name of ['a2', 'a3', 'b1']) void take(name);
  await expect(take('b2')).rejects.toBeInstanceOf(LineFull);
  void take('c1');
  await expect(take('c2')).rejects.toBeInstanceOf(LineFull);
  for (const name of ['a1', 'b1', 'c1']) await end(name);
  expect(served).toEqual(['a1', 'b1', 'c1', 'a2']);
});

test('owners who have no line are refused at once', async () => {
  const { served, take } = standing(new Turns({ atOnce: 1, each: 1, waiting: { each: 0, all: 0 } }));
  await take('a1');
  await expect(take('b1')).rejects.toBeInstanceOf(LineFull);
  expect(served).toEqual(['a1']);
});
