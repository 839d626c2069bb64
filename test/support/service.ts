/** The service over HTTP: the real gateway, authorizer and functions on a free port, and a small client. */
import { Agent, request } from 'node:http';
import { type GatewayOptions, startGateway } from '../../infra/local/gateway/gateway.ts';
import type { Gateway } from '../../infra/local/gateway/server.ts';
import type { OrganizationItem, ProjectItem } from '../../lib/accounts/organizations/model.ts';
import { addMember, createOrganization } from '../../lib/accounts/organizations/store.ts';
import { createKey, type NewKey } from '../../lib/accounts/personal-api-keys/store.ts';
import type { UserItem } from '../../lib/accounts/users/model.ts';
import { createUser } from '../../lib/accounts/users/store.ts';
import type { MembershipLevel } from '../../lib/http/levels.ts';
import type { Context } from '../../lib/ports/context.ts';
import { onEnd } from './on-end.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The body as JSON; undefined when it is empty, or no JSON. */
  readonly body: Record<string, unknown> | undefined;
  /** The body as it came. */
  readonly text: string;
}

export interface CallOptions {
  /** A key's value; default: the seeded owner's. Null: no Authorization header. */
  readonly key?: string | null;
  /** Sent as JSON, or as it is when it is text. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Service extends Gateway {
  /** The seeded user, the organization that they own, its first project, and a key of theirs that may do everything. */
  readonly owner: UserItem;
  readonly organization: OrganizationItem;
  readonly project: ProjectItem;
  readonly key: string;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** Another user; with `level`, a member of the seeded organization. */
  newUser(level?: MembershipLevel): Promise<UserItem>;
  /** A key's value. */
  newKey(user: UserItem, key?: Partial<NewKey>): Promise<string>;
}

/** A service that answers somewhere, and the context over its table. */
interface Running {
  readonly context: Context;
  /** Before the path: `http://127.0.0.1:8010`, with the stage if there is one. */
  readonly address: string;
  /** Makes addresses of mail; where several share a table, all different ones. Default: `owner@example.com`. */
  readonly mail?: (name: string) => string;
}

/** Starts the service over a context; it ends after the tests of the file. */
export async function testService(
  context: Context,
  options: Omit<GatewayOptions, 'context' | 'host' | 'port'> = {},
): Promise<Service> {
  const gateway = await startGateway({ context, host: '127.0.0.1', port: 0, rateLimit: null, ...options });
  onEnd(() => gateway.close());
  return { ...(await seeded({ context, address: gateway.address })), close: () => gateway.close() };
}

/** Makes an owner with an organization and a key in a running service, and a client of it. */
export async function seeded({
  context,
  address,
  mail = (name) => `${name}@example.com`,
}: Running): Promise<Omit<Service, 'close'>> {
  const owner = await createUser(context, { email: mail('owner'), first_name: 'Olivia' });
  const { organization, project } = await createOrganization(context, { name: 'Acme', owner });
  const { value: key } = await createKey(context, { user: owner, label: 'Everything', scopes: ['*'] });
  let users = 0;
  return {
    address,
    owner,
    organization,
    project,
    key,
    async call(method, path, { key: used = key, body, headers = {} } = {}) {
      const reply = await sent(`${address}${path}`, {
        method,
        headers: {
          ...(used === null ? {} : { Authorization: `Bearer ${used}` }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
      });
      const isJson = reply.text !== '' && reply.headers.get('content-type') === 'application/json';
      return { ...reply, body: isJson ? JSON.parse(reply.text) : undefined };
    },
    async newUser(level) {
      users += 1;
      const user = await createUser(context, { email: mail(`user-${users}`) });
      if (level !== undefined) await addMember(context, { organization, user, level });
      return user;
    },
    async newKey(user, made = {}) {
      return (await createKey(context, { user, label: 'A key', scopes: ['*'], ...made })).value;
    },
  };
}

const agent = new Agent({ keepAlive: true });

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Sends one request. It follows no redirect, and costs half of what `fetch` does. */
function sent(address: string, { method, headers, body }: Sent): Promise<Omit<Reply, 'body'>> {
  return new Promise((resolve, reject) => {
    // Node tells no length of a DELETE's body by itself.
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const going = request(new URL(address), { method, headers: { ...length, ...headers }, agent }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('error', reject).on('end', () => {
        const pairs = Object.entries(answer.headersDistinct).map(([name, values = []]) => [name, values.join(', ')]);
        resolve({ status: answer.statusCode ?? 0, headers: new Headers(pairs as [string, string][]), text });
      });
    });
    going.on('error', reject).end(body);
  });
}
