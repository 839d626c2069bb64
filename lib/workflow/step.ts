import { messageOf } from '../basics/text.ts';
import type { Context } from '../ports/context.ts';
import { inWords } from '../ports/disk-failures.ts';
import { Damaged, Permanent, Transient } from '../ports/errors.ts';
import { Busy } from '../ports/table/table.ts';
import type { Json } from './workflow.ts';

/**
 * Runs a step over its context: input and output are JSON. What it throws a machine catches as the failure of a function;
 * a `StateError` as it is, where another service than Lambda is stood for.
 */
export type StepRunner = (input: Json, signal?: AbortSignal) => Promise<Json>;

/**
 * Makes a step, as a function of the context, of what is its own: `run`. It logs how the step began and ended with the name
 * of the execution (`execution` of the input), and decides under which name an error leaves, which is what a machine's
 * Retry and Catch match: Transient and Permanent stay, a Busy table and trouble of the disk are Transient, anything else
 * keeps its own name and is logged with its stack. `signal` is aborted when the execution is stopped or the time is up; where none is given (on
 * Lambda) it never is.
 */
export const step =
  <In, Out extends object | null>(
    name: string,
    run: (input: In, context: Context, signal: AbortSignal) => Promise<Out>,
  ) =>
  (context: Context): StepRunner =>
  async (input, signal = new AbortController().signal) => {
    const log = context.log.with({ step: name, execution: executionOf(input) });
    const since = context.clock();
    log.debug('step begins');
    try {
      const output = await run(input as In, context, signal);
      log.debug('step ended', { ms: context.clock() - since });
      return output as Json;
    } catch (thrown) {
      const error = inWords(thrown);
      const ms = context.clock() - since;
      if (error instanceof Busy) {
        log.warning('step failed, the table is busy', { ms });
        throw new Transient(error.message, { cause: error });
      }
      if (error instanceof Transient) log.warning('step failed for now', { ms, reason: error.message });
      else if (error instanceof Damaged)
        log.error('step met a damaged file', { ms, path: error.path, reason: error.how });
      else if (error instanceof Permanent) log.info('step failed for good', { ms, reason: error.message });
      else if (signal.aborted) log.info('step was stopped', { ms, reason: messageOf(error) });
      else log.error('step broke', { ms, error });
      throw error;
    }
  };

function executionOf(input: Json): string | null {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return null;
  return typeof input['execution'] === 'string' ? input['execution'] : null;
}
