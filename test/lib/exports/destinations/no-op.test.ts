import { noOp } from '../../../../lib/exports/destinations/no-op.ts';
import { delivery } from '../../../support/delivery.ts';

test('reads every row, counts the bytes, and says that it kept none', async () => {
  const said: string[] = [];
  const one = delivery(noOp, {}, 3000, { say: (level, message) => void said.push(`${level} ${message}`) });
  const prepared = await noOp.deliver(one);
  await noOp.commit(one, prepared);
  expect(prepared.receipt).toEqual({ bytes: 3000 * 127 });
  expect(said).toEqual(['INFO Read 381000 bytes of JSON lines, and kept none of them.']);
});

test('fails as its rows do', async () => {
  const rows = async function* () {
    yield Buffer.from('{}\n');
    throw new Error('The lake is away.');
  };
  await expect(noOp.deliver(delivery(noOp, {}, 0, { rows }))).rejects.toThrow('The lake is away.');
});

test('takes a config with nothing in it', () => {
  expect(noOp.config.parse({})).toEqual({ arg: '' });
});
