/** A session with a server that speaks PostgreSQL's protocol: PostgreSQL itself, or Redshift. */
import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { connect as overTls } from 'node:tls';
import type { Client, ClientConfig } from 'pg';
import { MIB, SECOND_MS } from '../../../basics/units.ts';
import { Permanent, Transient } from '../../../ports/errors.ts';
import { connectionFailure, isPublicAddress } from '../../../ports/outbound/outbound.ts';
import type { Delivery } from '../destination.ts';
import { explained, serverOf, stateOf, type TableAddress } from './failure.ts';

/** The table, and the user who logs in. */
export interface Account extends TableAddress {
  readonly password: string;
  /** The connection is encrypted, but the server's certificate is not verified. */
  readonly has_self_signed_cert: boolean;
}

/** A row of an answer: every value as the server writes it. */
type AnswerRow = Readonly<Record<string, string | null>>;

/**
 * Every call throws `Permanent` or `Transient` with a text for the user; `stateOf` tells the SQLSTATE. When the signal
 * that it was opened with is aborted, the connection is cut, which the server takes as a rollback, and calls end with
 * the signal's reason.
 */
export interface Session {
  /** Runs a statement. Returns its rows, how many it touched, and its command's name. */
  query(
    text: string,
    values?: readonly (string | null)[],
  ): Promise<{ rows: AnswerRow[]; count: number; command: string }>;
  /** Sends rows in the text format of COPY. Returns how many were sent, and how many the server has taken. */
  copyIn(text: string, rows: AsyncIterable<Buffer>): Promise<{ bytes: number; sent: number; taken: number }>;
  /** Says goodbye; what was not committed is rolled back. Never throws. */
  end(): Promise<void>;
}

type Way = Pick<Delivery, 'outbound' | 'reach' | 'signal'>;

/** How long a server may take to answer before the first statement. */
const HANDSHAKE_TIMEOUT_MS = 20 * SECOND_MS;

/** The request for TLS: length 8, and its number. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/**
 * Connects over TLS, and returns the socket. A server without TLS is taken only at an address that is not public, where
 * the deployment allows those at all.
 */
export async function connectTo(account: Account, { outbound, reach, signal }: Way): Promise<Socket> {
  const place = serverOf(account);
  const socket = await outbound.connect(account.host, account.port, signal);
  // Whoever uses the socket next listens for themselves.
  socket.on('error', () => {}).setKeepAlive(true, 30 * SECOND_MS);
  const handshake = AbortSignal.any([signal, AbortSignal.timeout(HANDSHAKE_TIMEOUT_MS)]);
  try {
    socket.write(TLS_REQUEST);
    const answer = await firstAnswer(socket, handshake);
    if (answer === 'N') {
      if (reach.privateAddresses && !isPublicAddress(socket.remoteAddress ?? '')) return socket;
      throw new Permanent(
        `The server at ${place} does not offer TLS, so that the password could be read on the way. Turn TLS on there ` +
          '(ssl = on).',
      );
    }
    if (answer !== 'S') {
      throw new Permanent(`The server at ${place} does not speak PostgreSQL's protocol. Correct host and port.`);
    }
    const { host, has_self_signed_cert: isSelfSigned } = account;
    const names = isIP(host) === 0 ? { servername: host } : {};
    const secured = overTls({ socket, host, ...names, rejectUnauthorized: !isSelfSigned });
    secured.on('error', () => {});
    await once(secured, 'secureConnect', { signal: handshake });
    return secured;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    if (handshake.aborted) throw new Transient(`${place} did not answer in time.`, { cause: error });
    const failure = connectionFailure(error, place);
    const isCertificate = failure instanceof Permanent && /certificate/.test(failure.message);
    if (!isCertificate) throw failure;
    const advice = 'If it is the server’s own, set has_self_signed_cert to true: the connection is encrypted then, but';
    throw new Permanent(`${failure.message} ${advice} not proof against a server that only pretends.`, {
      cause: error,
    });
  }
}

/** Returns the one letter by which a server answers the request for TLS; what comes with it unasked is not trusted. */
async function firstAnswer(socket: Socket, signal: AbortSignal): Promise<string> {
  const ended = new AbortController();
  const end = (): void => ended.abort(new Error('the server closed the connection'));
  socket.once('close', end);
  try {
    const [data] = (await once(socket, 'data', { signal: AbortSignal.any([signal, ended.signal]) })) as [Buffer];
    return data.length === 1 ? data.toString('latin1') : '';
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    socket.off('close', end);
  }
}

/** Connects and logs in. */
export async function openSession(account: Account, way: Way): Promise<Session> {
  const { signal } = way;
  const [pg, { from }, socket] = await Promise.all([
    // Loaded when first used: those who only read a config need not wait for it.
    import('pg'),
    import('pg-copy-streams'),
    connectTo(account, way),
  ]);
  const client = new pg.Client(settings(account, socket));
  // A connection that breaks is seen by the statement that waits for it, or by the next one.
  client.on('error', () => {});
  cutFloods(client, socket, account);
  const cut = (): void => void socket.destroy();
  signal.addEventListener('abort', cut);

  const safely = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      signal.throwIfAborted();
      return await work();
    } catch (error) {
      if (stateOf(error) === undefined) close();
      signal.throwIfAborted();
      throw explained(error, account);
    }
  };
  const close = (): void => {
    signal.removeEventListener('abort', cut);
    socket.destroy();
  };

  const late = setTimeout(cut, HANDSHAKE_TIMEOUT_MS);
  try {
    await safely(() => client.connect());
  } finally {
    clearTimeout(late);
  }

  return {
    query: (text, values) =>
      safely(async () => {
        const answer = await client.query<Record<string, string | null>>(text, values && [...values]);
        return { rows: answer.rows, count: answer.rowCount ?? 0, command: answer.command };
      }),

    async copyIn(text, rows) {
      const failed = new AbortController();
      const broken = { signal: failed.signal };
      let [bytes, sent] = [0, 0];
      const stream = client.query(from(text, { highWaterMark: COPY_BUFFER_BYTES }));
      stream.on('error', (error) => failed.abort(error));
      const seen = (event: 'drain' | 'finish'): Promise<unknown> =>
        safely(() =>
          once(stream, event, broken).catch((error: unknown) => Promise.reject(failed.signal.reason ?? error)),
        );
      // A stream that has failed must not be written to, nor ended: it has lost its connection.
      const alive = (): Promise<void> => safely(async () => failed.signal.throwIfAborted());
      try {
        for await (const chunk of rows) {
          await alive();
          bytes += chunk.length;
          sent += linesIn(chunk);
          if (!stream.write(chunk)) await seen('drain');
        }
        await alive();
        stream.end();
        await seen('finish');
        return { bytes, sent, taken: stream.rowCount };
      } catch (error) {
        // The rows' own failure stays as it is.
        close();
        throw error;
      }
    },

    async end() {
      signal.removeEventListener('abort', cut);
      if (socket.destroyed) return;
      const late = setTimeout(cut, CLOSE_TIMEOUT_MS);
      const closed = once(socket, 'close');
      client.end().catch(() => {});
      await closed.catch(() => {});
      clearTimeout(late);
    },
  };
}

/** Returns how many lines end in it: in the text format of COPY a row is a line. */
function linesIn(chunk: Buffer): number {
  let count = 0;
  for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, end + 1)) count += 1;
  return count;
}

const LINE_END = 0x0a;

/** Bytes that a session is answered with at most: of rows, a few that describe a table or count what was merged. */
const ANSWER_BYTES = 16 * MIB;

/** Cuts the connection when the server answers more than was asked for: the client holds it all. */
function cutFloods(client: Client, socket: Socket, account: Account): void {
  let bytes = 0;
  socket.on('data', ({ length }: Buffer) => {
    bytes += length;
    if (bytes <= ANSWER_BYTES) return;
    const much = `The server at ${serverOf(account)} answers more than PostgreSQL ever does here.`;
    socket.destroy(new Permanent(`${much} Correct host and port.`));
  });
  // A trigger may send one with each row, and none is held.
  client.on('notice', ({ length }) => void (bytes -= length));
}

/** How long a server may take to say goodbye; then the connection is cut. */
const CLOSE_TIMEOUT_MS = 2 * SECOND_MS;

/** The bytes that wait for the server at most, beside what its connection holds. */
const COPY_BUFFER_BYTES = MIB;

/** Returns the client's settings: nothing is left to the environment's own of PostgreSQL. */
const settings = (account: Account, socket: Socket): ClientConfig => ({
  host: account.host,
  port: account.port,
  user: account.user,
  password: account.password,
  database: account.database,
  application_name: 'batch export',
  ssl: false,
  // The connection stands already; the client is told so when it asks for one.
  stream: () => Object.assign(socket, { connect: () => process.nextTick(() => socket.emit('connect')) }),
  types: { getTypeParser: () => (text: string) => text },
});
