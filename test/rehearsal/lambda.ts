/**
 * The functions of an assembly, each from its built asset in processes of its own behind the documented Lambda Runtime
 * API, with the environment that the template gives it and what Lambda itself sets. A process is started when it is
 * first needed, kept warm, frozen between invocations as Lambda does, and stopped when others need its place.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PayloadTooLarge } from '../../infra/local/gateway/rest-api.ts';
import type { Settings } from '../../lib/ports/settings.ts';
import { type Assembly, REGION, type Resource } from './assembly.ts';
import type { Permissions } from './permissions.ts';

/** Largest event and largest answer of an invocation that somebody waits for: 6 MB and a little for the envelope. */
const MAX_PAYLOAD = 6 * 1024 * 1024 + 100;
/** Processes that are kept, of all functions: 40 of some 70 MB each are 3 GB. */
const MAX_PROCESSES = 40;
/** Processes of one function, as reserved concurrency would have it; more invocations wait. */
const MAX_OF_ONE = 6;

/** Lambda's words instead of an answer. */
interface Failed {
  readonly errorType: string;
  readonly errorMessage: string;
}

export type Invocation = { readonly payload: string } | { readonly failed: Failed };

/** The work of a function so far. */
interface Statistics {
  readonly name: string;
  readonly invocations: number;
  readonly failures: number;
  /** Milliseconds from the start of a process to its first request for work, of each process. */
  readonly inits: readonly number[];
  /** Milliseconds of each invocation that was answered: the first of a process with its start, and the later ones. */
  readonly cold: readonly number[];
  readonly warm: readonly number[];
}

export interface Lambda {
  /** Calls the function with this ARN; waits for a place if need be. `PayloadTooLarge` for an event over 6 MB. */
  invoke(arn: string, event: unknown): Promise<Invocation>;
  /** Kills the processes of a function that are at work; returns whether there were any. */
  kill(arn: string): boolean;
  /** Returns the role and the name (without its stage) of the function that has this access key. */
  owner(accessKey: string): { readonly role: string; readonly name: string } | undefined;
  statistics(): Statistics[];
  close(): Promise<void>;
}

interface LambdaOptions {
  readonly assembly: Assembly;
  readonly permissions: Permissions;
  /** Where every AWS service is. */
  readonly endpoint: () => string;
  /** Settings that are others than the stage's. */
  readonly settings: Partial<Settings>;
  /** How far the rehearsal's clock is ahead, in milliseconds. */
  readonly clockOffset: () => number;
  /** A file with the certificates of authorities that functions trust beside the public ones. */
  readonly trusted: string;
  /** Takes the text that a function writes to its log, and what its process writes beside. */
  readonly log: (name: string, text: string) => void;
}

interface Deployed {
  readonly arn: string;
  readonly name: string;
  readonly role: string;
  readonly accessKey: string;
  readonly resource: Resource;
  readonly processes: Set<Running>;
  readonly waiting: Work[];
  /** Processes that have been asked for, and not begun. */
  starting: number;
  invocations: number;
  failures: number;
  readonly inits: number[];
  readonly cold: number[];
  readonly warm: number[];
}

interface Work {
  readonly id: string;
  readonly text: string;
  readonly askedAt: number;
  readonly done: (outcome: Invocation) => void;
}

interface Running {
  readonly child: ChildProcess;
  /** It has asked for work once. */
  isReady: boolean;
  hasAnswered: boolean;
  /** A request for work that is not answered yet. */
  idle: ServerResponse | undefined;
  work: Work | undefined;
  timer: NodeJS.Timeout | undefined;
  usedAt: number;
}

export function startLambda(options: LambdaOptions): Lambda {
  const { assembly, permissions, endpoint, settings, clockOffset, trusted, log } = options;
  const deployed = new Map<string, Deployed>();
  for (const [n, resource] of assembly.ofType('AWS::Lambda::Function').entries()) {
    const { properties } = resource;
    const arn = assembly.attribute(resource, 'Arn');
    deployed.set(arn, {
      arn,
      name: String(properties['Description']).replace(/ \(\w+\)$/, ''),
      role: properties['Role'],
      accessKey: `ASIAREHEARSAL${String(n).padStart(3, '0')}`,
      resource,
      processes: new Set(),
      waiting: [],
      starting: 0,
      invocations: 0,
      failures: 0,
      inits: [],
      cold: [],
      warm: [],
    });
  }
  const byKey = new Map([...deployed.values()].map((one) => [one.accessKey, one]));
  let closing = false;

  /** Lambda itself writes a function's log and its traces, with the function's role. */
  function checkPlatform({ role, name, resource: { properties } }: Deployed): void {
    const logGroup = assembly
      .ofType('AWS::Logs::LogGroup')
      .find(({ ref }) => ref === properties['LoggingConfig']['LogGroup']);
    if (logGroup === undefined) throw new Error(`${name} has no log group`);
    const needed = [
      ...['logs:CreateLogStream', 'logs:PutLogEvents'].map((action) => [action, assembly.attribute(logGroup, 'Arn')]),
      ...(properties['TracingConfig']?.['Mode'] === 'Active'
        ? ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'].map((action) => [action, '*'])
        : []),
    ];
    for (const [action = '', resource = ''] of needed)
      permissions.allows(role, { action, resource }, `the log of ${name}`);
  }

  async function start(one: Deployed): Promise<void> {
    const { properties } = one.resource;
    if (one.inits.length === 0) checkPlatform(one);
    makeRoom();
    const server = createServer();
    one.starting += 1;
    await once(server.listen(0, '127.0.0.1'), 'listening');
    one.starting -= 1;
    if (closing) return void server.close();
    const began = performance.now();
    const task = assembly.codeOf(one.resource);
    const memory = Number(properties['MemorySize']);
    // An environment has a disk of its own.
    const disk = mkdtempSync(join(tmpdir(), 'rehearsal-disk-'));
    const child = spawn(
      process.execPath,
      [`--max-old-space-size=${Math.floor(memory * 0.9)}`, join(import.meta.dirname, 'runtime.ts')],
      {
        cwd: task,
        env: {
          ...properties['Environment']?.['Variables'],
          SETTINGS: JSON.stringify({ ...JSON.parse(properties['Environment']['Variables']['SETTINGS']), ...settings }),
          ...lambdaEnvironment(one, memory),
          LAMBDA_TASK_ROOT: task,
          AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${(server.address() as AddressInfo).port}`,
          AWS_ENDPOINT_URL: endpoint(),
          TMPDIR: disk,
          NODE_EXTRA_CA_CERTS: trusted,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const slot: Running = {
      child,
      isReady: false,
      hasAnswered: false,
      idle: undefined,
      work: undefined,
      timer: undefined,
      usedAt: Date.now(),
    };
    one.processes.add(slot);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => log(one.name, String(chunk)));
    let initError: Failed | undefined;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const [, , , kind, id, end] = (request.url ?? '').split('/');
      if (kind === 'invocation' && id === 'next') {
        if (!slot.isReady) one.inits.push(performance.now() - began);
        slot.isReady = true;
        slot.idle = response;
        slot.usedAt = Date.now();
        next(one, slot);
        return;
      }
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        response.writeHead(202).end();
        if (kind === 'init') {
          initError = JSON.parse(body.toString()) as Failed;
        } else if (end === 'error') {
          finish(one, slot, { failed: JSON.parse(body.toString()) as Failed });
        } else if (body.length > MAX_PAYLOAD) {
          const errorMessage = `Response payload size exceeded maximum allowed payload size (${MAX_PAYLOAD} bytes).`;
          finish(one, slot, { failed: { errorType: 'Function.ResponseSizeTooLarge', errorMessage } });
        } else {
          finish(one, slot, { payload: body.toString() });
        }
      });
    });
    child.once('exit', (code, signal) => {
      rmSync(disk, { recursive: true, force: true, maxRetries: 3 });
      one.processes.delete(slot);
      server.close();
      server.closeAllConnections();
      const how = signal === null ? `exit status ${code}` : `signal: ${signal}`;
      finish(one, slot, {
        failed: initError ?? { errorType: 'Runtime.ExitError', errorMessage: `Runtime exited with error: ${how}` },
      });
      if (initError !== undefined) for (const work of one.waiting.splice(0)) work.done({ failed: initError });
      pump(one);
    });
  }

  /** Gives a process that asks for work the next invocation, or freezes it until there is one. */
  function next(one: Deployed, slot: Running): void {
    const work = one.waiting.shift();
    if (work === undefined) {
      slot.child.kill('SIGSTOP');
      return;
    }
    const seconds = Number(one.resource.properties['Timeout']);
    slot.work = work;
    slot.child.kill('SIGCONT');
    slot.idle
      ?.writeHead(200, {
        'Content-Type': 'application/json',
        'Lambda-Runtime-Aws-Request-Id': work.id,
        'Lambda-Runtime-Deadline-Ms': String(Date.now() + clockOffset() + seconds * 1000),
        'Lambda-Runtime-Invoked-Function-Arn': one.arn,
        'Lambda-Runtime-Trace-Id': 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0',
        'Rehearsal-Clock-Offset': String(clockOffset()),
      })
      .end(work.text);
    slot.idle = undefined;
    slot.timer = setTimeout(() => {
      const errorMessage = `RequestId: ${work.id} Error: Task timed out after ${seconds.toFixed(2)} seconds`;
      finish(one, slot, { failed: { errorType: 'Sandbox.Timedout', errorMessage } });
      slot.child.kill('SIGKILL');
    }, seconds * 1000);
  }

  function finish(one: Deployed, slot: Running, outcome: Invocation): void {
    clearTimeout(slot.timer);
    const { work } = slot;
    slot.work = undefined;
    if (work === undefined) return;
    one.invocations += 1;
    if ('failed' in outcome) one.failures += 1;
    else (slot.hasAnswered ? one.warm : one.cold).push(performance.now() - work.askedAt);
    slot.hasAnswered = true;
    work.done(outcome);
  }

  /** Finds processes for what waits. */
  function pump(one: Deployed): void {
    if (closing) return;
    for (const slot of one.processes) if (slot.idle !== undefined && one.waiting.length > 0) next(one, slot);
    const coming = one.starting + [...one.processes].filter(({ isReady }) => !isReady).length;
    const missing = Math.min(one.waiting.length - coming, MAX_OF_ONE - one.starting - one.processes.size);
    for (let n = 0; n < missing; n += 1) void start(one);
  }

  /** Stops the process that was idle longest, when there are too many. */
  function makeRoom(): void {
    const all = [...deployed.values()].flatMap(({ processes }) => [...processes]);
    if (all.length < MAX_PROCESSES) return;
    const [oldest] = all.filter(({ idle }) => idle !== undefined).toSorted((a, b) => a.usedAt - b.usedAt);
    oldest?.child.kill('SIGKILL');
  }

  const named = (arn: string): Deployed => {
    const found = deployed.get(arn);
    if (found === undefined) throw new Error(`there is no function ${arn}`);
    return found;
  };

  return {
    invoke: async (arn, event) => {
      const one = named(arn);
      const text = JSON.stringify(event);
      if (Buffer.byteLength(text) > MAX_PAYLOAD) throw new PayloadTooLarge(`the event for ${one.name} is over 6 MB`);
      return new Promise((done) => {
        one.waiting.push({ id: randomUUID(), text, askedAt: performance.now(), done });
        pump(one);
      });
    },
    kill: (arn) => {
      const busy = [...named(arn).processes].filter(({ work }) => work !== undefined);
      for (const { child } of busy) child.kill('SIGKILL');
      return busy.length > 0;
    },
    owner: (accessKey) => byKey.get(accessKey),
    statistics: () =>
      [...deployed.values()].map(({ name, invocations, failures, inits, cold, warm }) => ({
        name,
        invocations,
        failures,
        inits,
        cold,
        warm,
      })),
    close: async () => {
      closing = true;
      const all = [...deployed.values()].flatMap(({ processes }) => [...processes]);
      await Promise.all(
        all.map(async ({ child }) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const ended = once(child, 'exit');
          child.kill('SIGKILL');
          await ended;
        }),
      );
    },
  };
}

/** Returns the variables that Lambda sets in every function's environment, beside the template's. */
function lambdaEnvironment({ resource, accessKey }: Deployed, memory: number): Record<string, string> {
  const { ref, properties } = resource;
  return {
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: 'secret-of-the-rehearsal',
    AWS_SESSION_TOKEN: 'token-of-the-rehearsal',
    AWS_EXECUTION_ENV: `AWS_Lambda_${properties['Runtime']}`,
    AWS_LAMBDA_FUNCTION_NAME: ref,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memory),
    AWS_LAMBDA_LOG_GROUP_NAME: properties['LoggingConfig']['LogGroup'],
    AWS_LAMBDA_LOG_STREAM_NAME: 'rehearsal',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    _HANDLER: properties['Handler'],
    LANG: 'en_US.UTF-8',
    TZ: ':UTC',
    PATH: '/usr/local/bin:/usr/bin:/bin',
  };
}
