import { MINUTE_MS } from '../../../lib/basics/units.ts';
import { projectTokens } from '../../../lib/capture/tokens.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';

/** Tokens that are believed for a minute, of which one names project 1. */
async function known() {
  const context = testContext();
  const token = keys.projectToken('phc_a');
  await context.table.write([{ put: { ...token, project_id: 1 } }]);
  const tokens = projectTokens(context, { believedMs: MINUTE_MS });
  expect(await tokens.projectOf('phc_a')).toBe(1);
  await context.table.write([{ remove: token }]);
  return { tokens, clock: context.clock };
}

test('what a token names is believed for as long as was said', async () => {
  const { tokens, clock } = await known();
  clock.advance(MINUTE_MS - 1);
  expect(await tokens.projectOf('phc_a')).toBe(1);
  clock.advance(1);
  expect(await tokens.projectOf('phc_a')).toBeNull();
});

test('and not for longer when the clock is set back', async () => {
  const { tokens, clock } = await known();
  clock.set(clock() - 60 * MINUTE_MS);
  expect(await tokens.projectOf('phc_a')).toBeNull();
});

test('that there is no such token is believed as well', async () => {
  const { tokens, clock } = await known();
  clock.advance(MINUTE_MS);
  expect(await tokens.projectOf('phc_b')).toBeNull();
  expect(await tokens.projectOf('phc_a')).toBeNull();
});
