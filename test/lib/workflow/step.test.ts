import { Damaged, Permanent, Transient } from '../../../lib/ports/errors.ts';
import { Busy } from '../../../lib/ports/table/table.ts';
import { reasonOf } from '../../../lib/workflow/messages.ts';
import { step } from '../../../lib/workflow/step.ts';
import { testContext } from '../../support/context.ts';

describe('a step', () => {
  test('gets input, context and signal, and logs with the name of the execution', async () => {
    const context = testContext();
    const { signal } = new AbortController();
    const seen: unknown[] = [];
    const run = step('send-interval', async (input: { execution: string }, ...rest) => {
      seen.push(input, ...rest);
      return { done: true };
    })(context);
    expect(await run({ execution: 'h-1' }, signal)).toEqual({ done: true });
    expect(seen).toEqual([{ execution: 'h-1' }, context, signal]);
    expect(context.lines.map(({ message, fields }) => [message, fields['step'], fields['execution']])).toEqual([
      ['step begins', 'send-interval', 'h-1'],
      ['step ended', 'send-interval', 'h-1'],
    ]);
  });

  test.each([
    ['Transient', new Transient('later'), 'Transient', 'WARNING'],
    ['Permanent', new Permanent('never'), 'Permanent', 'INFO'],
    ['a damaged file', new Damaged('events/a.parquet', 'it is not there'), 'Permanent', 'ERROR'],
    ['a busy table', new Busy('conflict'), 'Transient', 'WARNING'],
    ['anything else', new TypeError('bug'), 'TypeError', 'ERROR'],
  ])('%s leaves under the name that machines match', async (_, error, name, level) => {
    const context = testContext();
    const run = step('begin-run', () => Promise.reject(error))(context);
    await expect(run({ execution: 'e' })).rejects.toMatchObject({ name, message: error.message });
    expect(context.lines.at(-1)).toMatchObject({ level, fields: { execution: 'e' } });
  });

  test('trouble of the disk is Transient, in words', async () => {
    const context = testContext();
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    const run = step('begin-run', () => Promise.reject(full))(context);
    const message = 'The disk of the service is full: space must be freed there.';
    await expect(run(null)).rejects.toMatchObject({ name: 'Transient', message });
    expect(context.lines.at(-1)).toMatchObject({ level: 'WARNING', fields: { reason: message } });
  });

  test('the stack of what nobody expected is in the log', async () => {
    const context = testContext();
    const run = step('begin-run', () => Promise.reject(new TypeError('bug')))(context);
    await expect(run(null)).rejects.toThrow('bug');
    expect((context.lines.at(-1)?.fields['error'] as Error | undefined)?.stack).toContain('TypeError: bug\n');
  });
});

describe('the reason of a caught error', () => {
  const NO_REASON = 'Athena did not run the query to its end.';
  /** What `startQueryExecution.sync` gives as the cause. */
  const unloaded = (StateChangeReason: string | undefined, Query = 'UNLOAD (SELECT 1)'): string =>
    JSON.stringify({ QueryExecution: { Query, Status: { State: 'FAILED', StateChangeReason } } });

  test.each([
    [{ Error: 'E' }, 'E'],
    [{ Error: 'E', Cause: '' }, 'E'],
    [{ Error: 'States.Timeout' }, 'It took longer than it may.'],
    [{ Error: 'E', Cause: 'words' }, 'words'],
    [{ Error: 'E', Cause: '{"errorType":"E","errorMessage":"a \\"b\\"\\nc","trace":[]}' }, 'a "b"\nc'],
    [{ Error: 'E', Cause: '{"errorType":"E","errorMessage":"cut of' }, 'cut of'],
    [{ Error: 'E', Cause: '{"errorType":"E","errorMessage":"cut \\' }, 'cut '],
    [{ Error: 'E', Cause: '{"errorType":"E","errorMessage":"cut \\u00' }, 'cut \\u00'],
    [{ Error: 'E', Cause: '{"Name":"b-1","Status":"FAILED"}' }, '{"Name":"b-1","Status":"FAILED"}'],
    [{ Error: 'E', Cause: unloaded('said', 'the "query"') }, 'said'],
    [{ Error: 'E', Cause: unloaded('a "b"\nc') }, 'a "b"\nc'],
    [{ Error: 'E', Cause: unloaded('cut of', 'q').slice(0, -4) }, 'cut of'],
    [{ Error: 'E', Cause: unloaded('said', '{"StateChangeReason":"asked"}') }, 'said'],
    [{ Error: 'E', Cause: unloaded('said', 'x'.repeat(40_000)).slice(0, 32_768) }, NO_REASON],
    [{ Error: 'E', Cause: unloaded(undefined) }, NO_REASON],
  ])('of %j is %j', (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });
});
