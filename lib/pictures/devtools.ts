/** Chrome's DevTools protocol over the pipes of a browser that was started with `--remote-debugging-pipe`. */
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { PictureFailed } from './pictures.ts';

/** What a command answers. */
type Result = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly result?: Result;
  readonly error?: { readonly message: string };
}

interface Devtools {
  /** Sends a command to the browser, or to the page of a session, and returns what it answers. */
  call(method: string, input: object, sessionId?: string): Promise<Result>;
}

/** The browser reads commands from its third file descriptor, and writes answers to its fourth. */
const PIPES = { commands: 3, answers: 4 } as const;
/** Messages end with this byte. */
const END = 0;

export function devtools({ stdio }: ChildProcess): Devtools {
  const commands = stdio[PIPES.commands] as Writable;
  const answers = stdio[PIPES.answers] as Readable;
  const waiting = new Map<number, PromiseWithResolvers<Result>>();
  let last = 0;
  let parts: Buffer[] = [];

  const take = (text: string): void => {
    const { id = 0, result = {}, error } = JSON.parse(text) as Message;
    const one = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) one?.resolve(result);
    else one?.reject(new PictureFailed(`The browser refused a command: ${error.message}.`));
  };
  answers.on('data', (bytes: Buffer) => {
    let from = 0;
    for (let end = bytes.indexOf(END); end >= 0; end = bytes.indexOf(END, from)) {
      take(Buffer.concat([...parts, bytes.subarray(from, end)]).toString());
      parts = [];
      from = end + 1;
    }
    parts.push(bytes.subarray(from));
  });
  // Whoever started the browser learns of its end.
  for (const pipe of [commands, answers]) pipe.on('error', () => {});

  return {
    call: (method, params, sessionId) => {
      last += 1;
      const one = Promise.withResolvers<Result>();
      waiting.set(last, one);
      const session = sessionId === undefined ? {} : { sessionId };
      commands.write(`${JSON.stringify({ id: last, method, params, ...session })}\0`);
      return one.promise;
    },
  };
}
