/**
 * A function's process: a client of the Lambda Runtime API, as AWS documents it, around the handler that `_HANDLER`
 * names in `LAMBDA_TASK_ROOT`. Answers one invocation after another, for ever.
 */
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { advanceClock } from './surroundings.ts';

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

const { AWS_LAMBDA_RUNTIME_API = '', LAMBDA_TASK_ROOT = '', _HANDLER = '' } = process.env;
const [host, port] = AWS_LAMBDA_RUNTIME_API.split(':');

function call(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
  return new Promise<{ headers: NodeJS.Dict<string | string[]>; text: string }>((resolve, reject) => {
    const sent = request({ host, port, method, path: `/2018-06-01/runtime/${path}`, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ headers: answer.headers, text: Buffer.concat(chunks).toString() }));
    });
    sent.on('error', reject).end(body);
  });
}

function report(path: string, error: unknown): Promise<unknown> {
  const { name = 'Error', message = String(error), stack = '' } = error instanceof Error ? error : {};
  const body = JSON.stringify({ errorType: name, errorMessage: message, trace: stack.split('\n') });
  return call('POST', path, body, { 'Lambda-Runtime-Function-Error-Type': name });
}

function load(): Handler {
  const [file = '', name = ''] = _HANDLER.split('.');
  const handler = createRequire(import.meta.url)(join(LAMBDA_TASK_ROOT, file))[name];
  if (typeof handler !== 'function') throw new TypeError(`${_HANDLER} is undefined or not exported`);
  return handler;
}

let handler: Handler;
try {
  handler = load();
} catch (error) {
  await report('init/error', error);
  process.exit(1);
}
for (;;) {
  const { headers, text } = await call('GET', 'invocation/next');
  const id = String(headers['lambda-runtime-aws-request-id']);
  process.env['_X_AMZN_TRACE_ID'] = String(headers['lambda-runtime-trace-id']);
  advanceClock(Number(headers['rehearsal-clock-offset']));
  const deadline = Number(headers['lambda-runtime-deadline-ms']);
  const context = { awsRequestId: id, getRemainingTimeInMillis: () => deadline - Date.now() };
  try {
    const result = await handler(JSON.parse(text), context);
    await call('POST', `invocation/${id}/response`, JSON.stringify(result) ?? 'null');
  } catch (error) {
    await report(`invocation/${id}/error`, error);
  }
}
