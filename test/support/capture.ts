/** A service that takes events live, over an inbox in a folder, and what lands in its lake. */
import { join } from 'node:path';
import { requestReader } from '../../infra/local/gateway/request-reader.ts';
import { SDK_LIMITS, type SdkEndpointOptions, sdkEndpoint } from '../../infra/local/gateway/sdk-endpoint.ts';
import type { CaptureContext } from '../../lib/capture/answers.ts';
import { CaptureCounts } from '../../lib/capture/counts.ts';
import { type LandingSegment, land } from '../../lib/capture/land.ts';
import { Lander } from '../../lib/capture/lander.ts';
import { type Arrival, type CapturedEvent, eachEvent, type RefusedEvent } from '../../lib/capture/normalize.ts';
import { projectTokens } from '../../lib/capture/tokens.ts';
import { parquet } from '../../lib/duckdb/database.ts';
import { allFiles } from '../../lib/lake/catalog.ts';
import type { Model } from '../../lib/lake/schema.ts';
import type { Context } from '../../lib/ports/context.ts';
import { folderInbox } from '../../lib/ports/inbox/folder.ts';
import { onAnyFile } from './any-file.ts';
import { testContext } from './context.ts';
import { onEnd } from './on-end.ts';
import { testService } from './service.ts';

/** Returns the events of one request, and those that are refused, as `eachEvent` yields them. */
export function normalizeEvents(
  events: readonly unknown[],
  arrival: Arrival,
): { readonly captured: readonly CapturedEvent[]; readonly refused: readonly RefusedEvent[] } {
  const all = [...eachEvent(events, arrival)];
  return {
    captured: all.flatMap((one) => ('captured' in one ? [one.captured] : [])),
    refused: all.flatMap((one) => ('refused' in one ? [one.refused] : [])),
  };
}

/** Starts it; it ends after the tests of the file. `proxies` is 1: a request says itself whence it comes. */
export async function captureService(
  changes: Partial<CaptureContext> = {},
  options: Partial<Omit<SdkEndpointOptions, 'context'>> = {},
) {
  const context = testContext();
  const inbox = await folderInbox(join(context.folder, 'inbox'));
  const reader = requestReader(join(context.folder, 'requests'), context.log);
  const counts = new CaptureCounts(context);
  const sdk = sdkEndpoint({
    context: {
      ...context,
      inbox,
      counts,
      tokens: projectTokens(context, { believedMs: 0 }),
      read: reader.read,
      eventsPerDay: null,
      ...changes,
    },
    limits: SDK_LIMITS,
    proxies: 1,
    ...options,
  });
  const service = await testService(context, { sdk });
  onEnd(async () => {
    await service.close();
    await Promise.all([inbox.close(), reader.close()]);
  });
  const lander = new Lander({
    inbox,
    counts,
    log: context.log,
    clock: context.clock,
    metrics: context.metrics,
    land: (segments: readonly LandingSegment[]) => land({ ...context, inbox }, segments),
  });
  return {
    context,
    service,
    counts,
    token: service.project.api_token,
    /** Lands what was taken, and returns the values of a column of all events in the lake, in order. */
    landed: async (column: string): Promise<unknown[]> => {
      await lander.pass();
      return inLake(context, service.project.id, column);
    },
  };
}

/** The person whom a distinct_id stands for, or stood for, as a request that looks for them now finds them. */
export async function personOf(context: Pick<Context, 'table' | 'lake'>, projectId: number, distinctId: string) {
  const newest = (column: string) =>
    inLake(context, projectId, `max_by(${column}, inserted_us) FILTER (distinct_id = '${distinctId}')`, 'persons');
  const [[id], [version]] = [await newest('person_id'), await newest('inserted_us')];
  return { id: String(id), version: Number(version) };
}

/** A column of all rows of a project's model in the lake, in order. */
export async function inLake(
  { table, lake }: Pick<Context, 'table' | 'lake'>,
  projectId: number,
  column: string,
  model: Model = 'events',
): Promise<unknown[]> {
  const files = await allFiles(table, projectId, model);
  if (files.length === 0) return [];
  const paths = files.map(({ path }) => lake.address(path));
  const answer = await onAnyFile((connection) =>
    connection.runAndReadAll(`SELECT ${column} FROM ${parquet(paths)} ORDER BY ALL`),
  );
  return answer.getRows().map(([value]) => (typeof value === 'bigint' ? Number(value) : value));
}
