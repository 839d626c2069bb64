import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { wasLately } from '../basics/lately.ts';
import { MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import { bytesOf } from '../http/body.ts';
import { requestIdOf } from '../http/request-id.ts';
import type { Context } from '../ports/context.ts';
import { answerSdk, type CaptureContext, type SdkRequest, toldNotKept } from './answers.ts';
import { contentOf } from './content.ts';
import { CaptureCounts } from './counts.ts';
import { askForLanding } from './landing.ts';
import { projectTokens } from './tokens.ts';

/** A token that was made or reset less than this ago may still be taken for what it was before. */
const TOKENS_BELIEVED_MS = MINUTE_MS;
/** How often it has what is kept landed, before it keeps the next. */
const LANDING_ASKED_MS = MINUTE_MS;

/** A request that comes so long after the last one has its counts flushed at once. */
const ALONE_MS = 2 * SECOND_MS;

/**
 * Of one project. An instance knows what the others have taken from the table, to which each flushes every ten seconds, so that a
 * project may get as much more as they take in that time.
 */
const EVENTS_PER_MINUTE = 600_000;

type Capture = (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult>;

/** Returns what takes the requests of SDKs that the gateway passes on, and answers 200 when they are kept. */
export function captureEndpoint(context: Context): Capture {
  const { inbox, clock, settings } = context;
  if (inbox === null) throw new Error('there is no inbox here');
  const counts = new CaptureCounts(context);
  let askedAt = Number.NEGATIVE_INFINITY;
  let answeredAt = Number.NEGATIVE_INFINITY;
  const capture: CaptureContext = {
    ...context,
    inbox: {
      append: async (request) => {
        // Before it is kept: else an instance that dies in between leaves what nobody lands.
        if (clock() - askedAt >= LANDING_ASKED_MS) {
          await askForLanding(context);
          askedAt = clock();
        }
        await inbox.append(request);
      },
    },
    tokens: projectTokens(context, { believedMs: TOKENS_BELIEVED_MS }),
    counts,
    read: async (request) => contentOf(request),
    // The gateway's limit is that of all together.
    mayTake: (projectId) =>
      counts.acceptedThisMinute(projectId) < EVENTS_PER_MINUTE ? 0 : MINUTE_MS - (clock() % MINUTE_MS),
    eventsPerDay: settings.eventsPerDay,
    notKept: toldNotKept(context),
  };
  return async (event) => {
    const { status, headers, body } = await answerSdk(capture, requestOf(event));
    // An instance to which nothing comes any more ends without a word, and what is pending ends with it.
    const isAlone = !wasLately(answeredAt, clock(), ALONE_MS);
    answeredAt = clock();
    await counts.flushIfDue(isAlone);
    return { statusCode: status, headers: { ...headers }, body };
  };
}

function requestOf(event: APIGatewayProxyEvent): SdkRequest {
  const { requestContext, httpMethod, path, queryStringParameters, headers } = event;
  return {
    id: requestIdOf(event),
    method: httpMethod,
    path,
    query: Object.fromEntries(Object.entries(queryStringParameters ?? {}).map(([name, value]) => [name, value ?? ''])),
    headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
    body: bytesOf(event),
    address: requestContext.identity.sourceIp,
  };
}
