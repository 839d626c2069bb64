/** A proxy before a PostgreSQL that reads what a client says, and breaks at any statement, or has the client killed. */
import { type AddressInfo, connect, createServer } from 'node:net';

interface PostgresProxy {
  readonly port: number;
  /** Returns the acts of the client so far: statements by their first word, and the other messages of the protocol. */
  readonly acts: () => string[];
  close(): Promise<void>;
}

/** The messages of a client that are no statements, by their letter. */
const MESSAGES: ReadonlyMap<string, string> = new Map([
  ['p', 'password'],
  ['d', 'first rows'],
  ['c', 'end of rows'],
  ['X', 'goodbye'],
]);

/** Returns the act that a client's first bytes in a turn begin; before the log-in, messages have no letter. */
function actOf(said: Buffer): string {
  const letter = said.toString('latin1', 0, 1);
  if (letter === '\0') return 'hello';
  const text = letter === 'Q' ? said.subarray(5) : letter === 'P' ? said.subarray(said.indexOf(0, 5) + 1) : undefined;
  if (text === undefined) return MESSAGES.get(letter) ?? letter;
  return /^\s*(\w*)/.exec(text.toString('latin1', 0, 100))?.[1] ?? '';
}

/**
 * Passes on what a client and the server on the port say. At each act (the first words after the server's last answer,
 * and the middle of rows that are sent) `ask` says whether the connection breaks before the server hears of it, or after it
 * has done it, without the client's being told. `kill` is called just before.
 */
export async function startPostgresProxy(
  port: number,
  ask: (act: string, number: number) => 'before' | 'after' | undefined,
  kill: () => void = () => {},
): Promise<PostgresProxy> {
  const acts: string[] = [];
  const server = createServer((client) => {
    const onward = connect(port, '127.0.0.1');
    /** Pieces that the client has sent since the server last spoke. */
    let pieces = 0;
    let isDoomed = false;
    const die = (): void => {
      kill();
      client.destroy();
    };
    client.on('error', () => {}).on('close', () => onward.destroy());
    onward.on('error', () => {}).on('close', () => client.destroy());
    client.on('data', (said) => {
      pieces += 1;
      if (pieces <= 2) {
        acts.push(pieces === 1 ? actOf(said) : 'more');
        const when = ask(acts.at(-1) ?? '', acts.length);
        if (when === 'before') {
          die();
          return;
        }
        isDoomed = when === 'after';
      }
      onward.write(said);
    });
    onward.on('data', (answer) => {
      pieces = 0;
      if (isDoomed) die();
      else client.write(answer);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    acts: () => [...acts],
    close: () => new Promise((done) => server.close(() => done())),
  };
}
