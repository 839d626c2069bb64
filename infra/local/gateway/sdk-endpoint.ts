import type { IncomingMessage } from 'node:http';
import { MIB } from '../../../lib/basics/units.ts';
import {
  answerSdk,
  type CaptureContext,
  isSdkPath,
  noRoomAnswer,
  type SdkAnswer,
  toldNotKept,
  tooLargeAnswer,
  tooManyAnswer,
} from '../../../lib/capture/answers.ts';
import { networkOf } from '../../../lib/http/network.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { type BodyLimits, bodyRoom } from './body-room.ts';
import { drain, readBody } from './request-body.ts';
import { addressOf } from './sender-address.ts';
import { type RateLimit, tokenBuckets } from './token-bucket.ts';

/** Answers requests of SDKs. */
export interface SdkEndpoint {
  /** Whether an SDK asks at this path, and not a caller of the API. */
  isFor(path: string): boolean;
  /** Rejects when the caller went away. */
  answer(request: IncomingMessage, requestId: string): Promise<SdkAnswer>;
}

/** How much of SDKs is taken, for all of them together, and of whom. */
export interface SdkLimits {
  /** Of one address: requests. Null: any number. */
  readonly ofAddress: RateLimit | null;
  /** Of one project: events. Null: any number. */
  readonly ofProject: RateLimit | null;
  /** Of one address, and of all. */
  readonly bodies: BodyLimits;
}

/** As large as PostHog takes them. */
const MAX_BODY_BYTES = 20 * MIB;

/**
 * An address may send a tenth of what the gateway lets through of all. A project may send half of the 20,000 events a
 * second that two cores are to land, for a minute at once: more only makes the inbox grow. Bodies: three of the largest of
 * one address, six in all, and two more beside them.
 */
export const SDK_LIMITS: SdkLimits = {
  ofAddress: { rate: 1_000, burst: 2_000 },
  ofProject: { rate: 10_000, burst: 600_000 },
  bodies: { each: 3 * MAX_BODY_BYTES, all: 6 * MAX_BODY_BYTES, spare: 2 * MAX_BODY_BYTES },
};

export interface SdkEndpointOptions {
  readonly context: Omit<CaptureContext, 'mayTake' | 'notKept'> & Pick<Context, 'log'>;
  readonly limits: SdkLimits;
  /** How many proxies stand before the service, each of which adds whom it serves to `X-Forwarded-For`. */
  readonly proxies: number;
}

export function sdkEndpoint({ context, limits, proxies }: SdkEndpointOptions): SdkEndpoint {
  const { ofAddress, ofProject } = limits;
  const addresses = ofAddress === null ? null : tokenBuckets(ofAddress);
  const projects = ofProject === null ? null : tokenBuckets(ofProject);
  const room = bodyRoom(limits.bodies);
  const capture: CaptureContext = {
    ...context,
    mayTake: (projectId, events) => projects?.(String(projectId), performance.now(), events) ?? 0,
    notKept: toldNotKept(context),
  };
  return {
    isFor: isSdkPath,
    answer: async (request, id) => {
      const { headers } = request;
      const address = addressOf(request, proxies);
      const network = networkOf(address);
      const waitMs = addresses?.(network, performance.now()) ?? 0;
      if (waitMs > 0) return tooManyAnswer({ headers }, waitMs);
      const held = room(network);
      try {
        const body = await readBody(request, MAX_BODY_BYTES, held.take);
        if (body === undefined) {
          const answer = held.isFull() ? noRoomAnswer({ headers }) : tooLargeAnswer({ headers }, MAX_BODY_BYTES);
          await drain(request, 2 * MAX_BODY_BYTES);
          return answer;
        }
        const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
        return await answerSdk(capture, {
          id,
          method: request.method ?? 'GET',
          path,
          query: query === '' ? {} : Object.fromEntries(new URLSearchParams(query)),
          headers,
          body,
          address,
        });
      } finally {
        held.giveBack();
      }
    },
  };
}
