/**
 * A server that serves the whole run of jest. jest's own process, in its globalSetup, only opens a door; the first test
 * that knocks has the server started behind it.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that has been started. */
export interface Running {
  /** What a test needs to know of it. */
  readonly address: string;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
}

interface SharedServer {
  /** Opens the door: in jest's own process, before any test. */
  open(): Promise<void>;
  /** The address of the server, which runs by then. Throws with the reason when it cannot be started. */
  address(): Promise<string>;
  /** Closes the door, and ends the server if it was started. */
  close(): Promise<void>;
}

/** `variable` of the environment tells the tests where the door is. */
export function sharedServer(variable: string, start: () => Promise<Running>): SharedServer {
  let door: Server | undefined;
  let running: Promise<Running> | undefined;
  return {
    async open() {
      const made = createServer((_request, response) => {
        running ??= start();
        running.then(
          ({ address }) => response.end(address),
          (error: unknown) => response.writeHead(500).end(String(error)),
        );
      });
      made.unref();
      await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
      process.env[variable] = `http://127.0.0.1:${(made.address() as AddressInfo).port}/`;
      door = made;
    },
    async address() {
      const answer = await fetch(process.env[variable] ?? '');
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      return text;
    },
    async close() {
      door?.close();
      const started = await running?.catch(() => undefined);
      await started?.stop();
    },
  };
}
