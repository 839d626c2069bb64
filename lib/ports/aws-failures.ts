import { isThrottlingError, isTransientError } from '@smithy/core/retry';
import { messageOf } from '../basics/text.ts';
import { Transient } from './errors.ts';

type SdkError = Parameters<typeof isTransientError>[0];

/**
 * Returns the answer of a call to AWS. The client has tried again by itself: throws `Transient` when the service still
 * throttles, is unreachable or out of order, and any other error as it is. That is trouble of the service's own: no
 * destination is reached so.
 */
export async function orTransient<T>(service: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const sdkError = error as SdkError;
    if (!isThrottlingError(sdkError) && !isTransientError(sdkError)) throw error;
    throw new Transient(`${service} does not answer: ${messageOf(error)}`, { cause: error, isOwn: true });
  }
}
