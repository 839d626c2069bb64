import { bodyRoom } from '../../../../infra/local/gateway/body-room.ts';

const MEGABYTE = 1024 * 1024;
const room = () => bodyRoom({ each: 6 * MEGABYTE, all: 10 * MEGABYTE, spare: 2 * MEGABYTE });

test('a sender has as much room as one may, and all together as much as there is', () => {
  const asked = room();
  expect(asked('ada').take(6 * MEGABYTE)).toBe(true);
  expect(asked('ada').take(1)).toBe(false);
  expect(asked('bea').take(5 * MEGABYTE)).toBe(false);
  expect(asked('bea').take(4 * MEGABYTE)).toBe(true);
});

test('those who send much do not keep out those who send little', () => {
  const asked = room();
  for (const [name, megabytes] of [
    ['ada', 6],
    ['bea', 4],
  ] as const)
    asked(name).take(megabytes * MEGABYTE);
  const body = asked('cid');
  expect(body.take(MEGABYTE)).toBe(true);
  expect(body.take(1)).toBe(false);
  expect(asked('ada').take(1)).toBe(false);
  expect(asked('dan').take(MEGABYTE)).toBe(true);
  expect(asked('eve').take(1)).toBe(false);
});

test('what is given back is there for the next, and a body that was refused takes no more', () => {
  const asked = room();
  const body = asked('ada');
  expect([body.take(MEGABYTE), body.take(6 * MEGABYTE), body.take(1)]).toEqual([true, false, false]);
  expect(body.isFull()).toBe(true);
  body.giveBack();
  const next = asked('ada');
  expect([next.take(6 * MEGABYTE), next.isFull()]).toEqual([true, false]);
});
