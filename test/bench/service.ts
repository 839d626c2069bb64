/** The service as `npm start` runs it: a process of its own over a data directory of its own, called over HTTP. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { start } from './processes.ts';

export interface Service {
  readonly dataDirectory: string;
  readonly address: string;
  /** A key that may do everything. */
  readonly key: string;
  readonly organizationId: string;
  readonly projectId: number;
  /** Sends a request. Throws when it is refused. */
  call(method: string, path: string, body?: object): Promise<Answer>;
  /** Returns the processor time that it has taken, in milliseconds, without its workers. */
  processorMs(): number;
  /** Ends the service; returns the most memory that it ever had, in MB. */
  stop(): Promise<number>;
}

interface Answer {
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Welcome {
  readonly address: string;
  readonly organization_id: string;
  readonly project_id: number;
  readonly key_file: string;
}

/** Starts a service on a new data directory of the bench, with commits on the disk and without a rate limit. */
export async function startService(bench: Bench, name: string): Promise<Service> {
  const dataDirectory = join(bench.folder, name);
  const environment = { WORKSPACE_HOME: dataDirectory, HOST: '127.0.0.1', PORT: '0', RATE_LIMIT: 'off' };
  const { line, stop, processorMs } = start('infra/local/main.ts', [], environment, bench);
  const welcome = JSON.parse(await line('first start')) as Welcome;
  const { address } = welcome;
  const key = readFileSync(welcome.key_file, 'utf8').trim();
  return {
    dataDirectory,
    address,
    key,
    organizationId: welcome.organization_id,
    projectId: welcome.project_id,
    stop,
    processorMs,
    async call(method, path, body) {
      const response = await fetch(new URL(path, address), {
        method,
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: bench.signal,
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`);
      return { headers: response.headers, text, body: text === '' ? {} : JSON.parse(text) };
    },
  };
}
