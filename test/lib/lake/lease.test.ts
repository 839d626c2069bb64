/** Who adds to a project, and in which order. */
import { asImport, underLease } from '../../../lib/lake/lease.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { importContext, PROJECT } from '../../support/imports.ts';
import { tableWith } from '../../support/table-override.ts';

test('an import leaves the project to one landing after the other, as long as another one comes', async () => {
  const context = await importContext();
  const done: string[] = [];
  const looks: { readonly holder: 'landing' | undefined; readonly resolve: () => void }[] = [];
  /** The import looks at who has the project, and finds this one, or nobody. */
  const finds = (holder: 'landing' | undefined) => new Promise<void>((resolve) => looks.push({ holder, resolve }));
  const { pk, sk } = keys.lease(PROJECT);
  const table = tableWith(context.table, {
    get: async (key) => {
      const found = await context.table.get(key);
      if (key.pk !== pk || key.sk !== sk) return found;
      for (const look of looks.splice(0))
        if (look.holder === found?.['purpose']) look.resolve();
        else looks.push(look);
      return found;
    },
  });
  const land = async (): Promise<void> => {
    await finds(undefined);
    await underLease(context, PROJECT, () => finds('landing'), { purpose: 'landing' });
    done.push('landing');
  };
  await asImport({ ...context, table }, PROJECT, async (adder) => {
    let landings = Promise.resolve();
    await adder.batch(async () => {
      await expect(underLease(context, PROJECT, async () => {}, { purpose: 'landing' })).rejects.toThrow('under way');
      done.push('batch');
      landings = land().then(land).then(land);
    });
    await adder.batch(async () => void done.push('batch'));
    await landings;
  });
  expect(done).toEqual(['batch', 'landing', 'landing', 'landing', 'batch']);
});
