import { LineFull, Turns } from '../../../lib/workers/turns.ts';

/** Waits until all that can happen without time has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Takes turns in the order given, each for the owner of its first letter, sent by the user of its second; says who was served when. */
function standing(turns: Turns) {
  const served: string[] = [];
  const giveBack = new Map<string, () => void>();
  const take = (name: string, signal?: AbortSignal): Promise<void> =>
    turns.take(name.charAt(0), signal, name.charAt(1)).then((release) => {
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

describe('where users are told apart', () => {
  const line = { each: 2, all: 3 };

  test('one piece of a user runs at a time, whoever owns it, and waits for nobody where it has its turn', async () => {
    const { served, take, end } = standing(new Turns({ atOnce: 2, each: 1, waiting: line, users: { waiting: 3 } }));
    await take('as');
    // The first of u waits for the owner, and holds up no other of theirs.
    void take('au');
    await take('bu');
    void take('cu');
    await settled();
    expect(served).toEqual(['as', 'bu']);
    await end('as');
    expect(served).toEqual(['as', 'bu']);
    await end('bu');
    expect(served).toEqual(['as', 'bu', 'au']);
    await end('au');
    expect(served.slice(3)).toEqual(['cu']);
  });

  test('what ends lets all begin that waited for its owner or its user', async () => {
    const { served, take, end } = standing(new Turns({ atOnce: 2, each: 1, waiting: line, users: { waiting: 3 } }));
    await take('au');
    void take('bu');
    void take('av');
    await end('au');
    expect(served).toEqual(['au', 'av', 'bu']);
  });

  test('a user with many owners, or much for one of them, goes before nobody else again and again', async () => {
    const { served, take, end } = standing(new Turns({ atOnce: 1, each: 1, waiting: line, users: { waiting: 9 } }));
    await take('au');
    for (const name of ['bu', 'cu', 'du', 'au', 'av', 'ew']) void take(name);
    await end('au');
    await end('ew');
    expect(served).toEqual(['au', 'ew', 'av']);
    await end('av');
    expect(served).toHaveLength(4);
  });

  test('what waits of a user is one place of their owners, and only they are refused for more than they may have', async () => {
    const { served, take, end } = standing(new Turns({ atOnce: 1, each: 1, waiting: line, users: { waiting: 3 } }));
    await take('as');
    for (const name of ['au', 'au', 'bu']) void take(name);
    await expect(take('cu')).rejects.toMatchObject({ of: 'user' });
    void take('av');
    await expect(take('aw')).rejects.toMatchObject({ of: 'owner' });
    void take('bx');
    await expect(take('by')).rejects.toMatchObject({ of: 'owner' });
    void take('cy');
    for (let n = 0; n < 7; n += 1) await end(served[n] as string);
    expect(served.toSorted()).toEqual(['as', 'au', 'au', 'av', 'bu', 'bx', 'cy']);
  });

  test('an owner of whom nothing runs has one piece beyond its user’s while more than what is to be left is free', async () => {
    const users = { waiting: 9, each: 2, left: 1 };
    const { served, take, end } = standing(new Turns({ atOnce: 4, each: 2, waiting: { each: 9, all: 9 }, users }));
    for (const name of ['au', 'au', 'bu']) await take(name);
    for (const name of ['cu', 'dv']) void take(name);
    await settled();
    expect(served).toEqual(['au', 'au', 'bu', 'dv']);
    await end('dv');
    expect(served).toHaveLength(4);
    await end('bu');
    expect(served.slice(4)).toEqual(['cu']);
  });

  test('whoever leaves frees their place and that of their user', async () => {
    const { served, take, end } = standing(new Turns({ atOnce: 1, each: 1, waiting: line, users: { waiting: 1 } }));
    await take('as');
    const leaving = new AbortController();
    const left = take('au', leaving.signal);
    await expect(take('bu')).rejects.toMatchObject({ of: 'user' });
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    void take('bu');
    await end('as');
    expect(served).toEqual(['as', 'bu']);
  });
});
