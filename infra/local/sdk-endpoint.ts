import type { IncomingMessage } from 'node:http';
import {
  answerSdk,
  type CaptureContext,
  isSdkPath,
  type SdkAnswer,
  tooLargeAnswer,
} from '../../lib/capture/answers.ts';
import { readBody } from './request-body.ts';

/** Answers requests of SDKs. */
export interface SdkEndpoint {
  /** Whether an SDK asks at this path, and not a caller of the API. */
  isFor(path: string): boolean;
  /** Rejects when the caller went away. */
  answer(request: IncomingMessage, requestId: string): Promise<SdkAnswer>;
}

/** As large as PostHog takes them. */
const MAX_BODY_BYTES = 20 * 1024 * 1024;

export const sdkEndpoint = (context: CaptureContext): SdkEndpoint => ({
  isFor: isSdkPath,
  answer: async (request, id) => {
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
    );
    const body = await readBody(request, MAX_BODY_BYTES);
    if (body === undefined) return tooLargeAnswer({ headers }, MAX_BODY_BYTES);
    const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
    return answerSdk(context, {
      id,
      method: request.method ?? 'GET',
      path,
      query: Object.fromEntries(new URLSearchParams(query)),
      headers,
      body,
      address: request.socket.remoteAddress ?? null,
    });
  },
});
