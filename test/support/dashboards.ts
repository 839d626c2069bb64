/** Dashboards and insights of the seeded project, over HTTP. */
import type { Table } from '../../lib/ports/table/table.ts';
import { type TestContext, testContext } from './context.ts';
import { type CountingTable, countRoundTrips } from './round-trips.ts';
import { type CallOptions, type Reply, type Service, testService } from './service.ts';

type Json = Record<string, unknown>;

interface TileJson {
  readonly id: number;
  readonly layouts: Json;
  readonly color: string | null;
  readonly insight: (Json & { readonly id: number }) | null;
  readonly text: (Json & { readonly body: string }) | null;
}

export interface DashboardJson extends Json {
  readonly id: number;
  readonly name: string;
  readonly tiles: TileJson[];
}

interface InsightJson extends Json {
  readonly id: number;
  readonly dashboards: number[];
}

export interface Dashboards {
  readonly context: TestContext<object>;
  readonly table: CountingTable;
  readonly service: Service;
  /** `/api/projects/<id>` of the seeded project. */
  readonly project: string;
  /** Calls a path below the project. */
  readonly call: (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Reply>;
  /** Makes a dashboard, as the seeded owner unless `options` name another key. Throws when it is refused. */
  readonly dashboard: (body?: object, options?: CallOptions) => Promise<DashboardJson>;
  /** Makes an insight. Throws when it is refused. */
  readonly insight: (body?: object, options?: CallOptions) => Promise<InsightJson>;
  /** Reads a dashboard. Throws when it is not there. */
  readonly found: (id: number, options?: CallOptions) => Promise<DashboardJson>;
  /** Changes a dashboard and returns what the PATCH answers. Throws when it is refused. */
  readonly changed: (id: number, body: object, options?: CallOptions) => Promise<DashboardJson>;
}

/** Starts a service whose round trips to the table are counted. */
export async function dashboards(over?: Table): Promise<Dashboards> {
  const context = testContext(over === undefined ? {} : { table: over });
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  const project = `/api/projects/${service.project.id}`;
  const call = (method: string, path: string, body?: unknown, options: CallOptions = {}) =>
    service.call(method, `${project}${path}`, { ...(body === undefined ? {} : { body }), ...options });
  const done = async <T>(status: number, reply: Promise<Reply>): Promise<T> => {
    const { status: found, body } = await reply;
    if (found !== status) throw new Error(`answered ${found}: ${JSON.stringify(body)}`);
    return body as T;
  };
  return {
    context,
    table,
    service,
    project,
    call,
    dashboard: (body = { name: 'Weekly' }, options = {}) => done(201, call('POST', '/dashboards/', body, options)),
    insight: (body = { name: 'Visitors' }, options = {}) => done(201, call('POST', '/insights/', body, options)),
    found: (id, options = {}) => done(200, call('GET', `/dashboards/${id}/`, undefined, options)),
    changed: (id, body, options = {}) => done(200, call('PATCH', `/dashboards/${id}/`, body, options)),
  };
}

/** Returns the status and the body of an answer. */
export const told = ({ status, body }: Reply) => ({ status, body });

/** Returns the refusal that names a field. */
export const bad = (detail: string, attr: string | null = null, code = 'invalid_input') => ({
  status: 400,
  body: { type: 'validation_error', code, detail, attr },
});

/** Returns the refusal of what the caller may not do. */
export const denied = (detail: string) => ({
  status: 403,
  body: { type: 'authentication_error', code: 'permission_denied', detail, attr: null },
});

export const NOT_FOUND = {
  status: 404,
  body: { type: 'invalid_request', code: 'not_found', detail: 'Not found.', attr: null },
};
