/** What those who run the service ask of it, beside its API: whether it lives, whether it is ready, and its numbers. */
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { messageOf } from '../../../lib/basics/text.ts';
import type { Context } from '../../../lib/ports/context.ts';
import type { PrometheusMetrics } from '../../../lib/ports/metrics/prometheus.ts';
import { ranges } from '../../../lib/ports/table/keys.ts';
import { isUnderForeignName } from './proxy-event.ts';

interface Watched extends Pick<Context, 'table' | 'clock' | 'log'> {
  /** Why no requests should be sent now; null: they may be. */
  readonly pauseReason: () => string | null;
  /** Null: they are nobody's to read. */
  readonly numbers: PrometheusMetrics | null;
}

/** Answers by path, as `serveRestApi` takes them; undefined: to this request it is a path like any other. */
export type Probes = Readonly<Record<string, (request: IncomingMessage) => Promise<APIGatewayProxyResult | undefined>>>;

export function probesOf({ table, clock, log, pauseReason, numbers }: Watched): Probes {
  const ready = async (): Promise<APIGatewayProxyResult> => {
    const reason = pauseReason();
    if (reason !== null) return answer(503, { status: reason });
    try {
      await table.list(ranges.dueJobs(clock()), { limit: 1 });
      return answer(200, { status: 'ready' });
    } catch (error) {
      log.error('not ready: the table cannot be read', { reason: messageOf(error) });
      return answer(503, { status: 'the table cannot be read' });
    }
  };
  return {
    '/_health': alive,
    '/_ready': ready,
    // As PostHog's capture has them.
    '/_liveness': alive,
    '/_readiness': ready,
    ...(numbers === null ? {} : { '/metrics': (request) => numbersFor(request, numbers) }),
  };
}

const alive = async (): Promise<APIGatewayProxyResult> => answer(200, { status: 'alive' });

const answer = (statusCode: number, body: object): APIGatewayProxyResult => ({
  statusCode,
  headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
  body: JSON.stringify(body),
});

async function numbersFor(
  request: IncomingMessage,
  numbers: PrometheusMetrics,
): Promise<APIGatewayProxyResult | undefined> {
  if (isUnderForeignName(request)) return undefined;
  const { body, mediaType } = await numbers.text();
  return { statusCode: 200, headers: { 'Content-Type': mediaType }, body };
}
