/** A function of Lambda that other functions call. */
import type { LambdaClient } from '@aws-sdk/client-lambda';
import { MIB } from '../../basics/units.ts';
import { orTransient } from '../aws-failures.ts';

/** What a call came to: the JSON that was returned, or how the function ended without. */
type Called = { readonly returned: unknown } | { readonly ended: { readonly name: string; readonly message: string } };

export interface LambdaFunction {
  /**
   * Calls it and waits. Throws `FunctionBusy`, `InputTooLarge`, `Transient`, and the signal's reason; the function goes on on
   * abort.
   */
  call(input: unknown, signal?: AbortSignal): Promise<Called>;
  /** Has it called, once, and does not wait: resolves when that is sure. */
  order(input: unknown): Promise<void>;
}

/** The function runs as often as it may. */
export class FunctionBusy extends Error {
  override readonly name = 'FunctionBusy';
}

/** The input has more bytes than a function is handed. */
export class InputTooLarge extends Error {
  override readonly name = 'InputTooLarge';
}

/** Lambda hands a function so many bytes (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html). */
const MOST_BYTES = 6 * MIB;

const payloadOf = (input: unknown): Buffer => Buffer.from(JSON.stringify(input));

/** Loaded when something is called: most of what functions are asked needs no other. */
export const lambdaSdk = async () => import('@aws-sdk/client-lambda');

type Client = Pick<LambdaClient, 'send'>;

/**
 * Returns the function of this name. Its client, which is made for the first call, waits as long as the function may take,
 * and tries nothing twice.
 */
export function lambdaFunction(connect: () => Promise<Client>, FunctionName: string): LambdaFunction {
  let made: Promise<Client> | undefined;
  const client = (): Promise<Client> => (made ??= connect());
  return {
    call: async (input, signal) => {
      signal?.throwIfAborted();
      const { InvokeCommand, TooManyRequestsException } = await lambdaSdk();
      const Payload = payloadOf(input);
      if (Payload.length > MOST_BYTES) throw new InputTooLarge(`the input has ${Payload.length} bytes`);
      const command = new InvokeCommand({ FunctionName, Payload });
      const options = signal === undefined ? {} : { abortSignal: signal };
      const { FunctionError, Payload: answer } = await (await client())
        .send(command, options)
        .catch((error: unknown) => {
          signal?.throwIfAborted();
          if (error instanceof TooManyRequestsException) throw new FunctionBusy(error.message, { cause: error });
          return orTransient('Lambda', Promise.reject(error));
        });
      const said = JSON.parse(Buffer.from(answer ?? []).toString());
      if (FunctionError === undefined) return { returned: said };
      const { errorType = '', errorMessage = '' } = said as { errorType?: string; errorMessage?: string };
      return { ended: { name: errorType, message: errorMessage } };
    },
    order: async (input) => {
      const { InvokeCommand } = await lambdaSdk();
      const command = new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload: payloadOf(input) });
      await orTransient('Lambda', (await client()).send(command));
    },
  };
}
