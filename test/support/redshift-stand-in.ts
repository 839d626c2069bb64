/**
 * A PostgreSQL that runs Redshift's statements: with the type SUPER and two functions, and, on a proxy before the
 * server, COPY from a manifest in a bucket.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { Bucket } from './bucket.ts';

/** Statements that add to the schema `public` of a database what Redshift has and PostgreSQL lacks. */
export const REDSHIFT_WORDS = `
  CREATE DOMAIN public.super AS jsonb;
  CREATE FUNCTION public.json_parse(text) RETURNS jsonb LANGUAGE sql AS 'SELECT $1::jsonb';
  CREATE FUNCTION public.getdate() RETURNS timestamp LANGUAGE sql AS $$ SELECT now() AT TIME ZONE 'UTC' $$;
  CREATE VIEW public.sys_load_error_detail AS SELECT pg_backend_pid() AS session_id, now() AS start_time,
    'event   '::text AS column_name, 2 AS line_number, 'String length exceeds DDL length  '::text AS error_message;
  GRANT ALL ON SCHEMA public TO public`;

export interface RedshiftProxy {
  readonly port: number;
  /** The COPY statements that were asked for. */
  readonly copies: () => string[];
  close(): Promise<void>;
}

/** Returns text with Redshift's escapes as PostgreSQL's. */
const asPostgres = (text: string): string =>
  text.replace(/\\([^])/g, (_, next: string) => {
    const letter = { '\t': 't', '\n': 'n', '\r': 'r', '\\': '\\', N: 'N' }[next];
    return letter === undefined ? next : `\\${letter}`;
  });

const message = (letter: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(letter, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};

/** The first byte of PostgreSQL's answers, and of the last of them all but what state it is in. */
const [COPY_IN, ERROR] = [0x47, 0x45];
const READY = Buffer.from([0x5a, 0, 0, 0, 5]);

/** Redshift's answer when a value of a file does not fit. */
const LOAD_FAILED = Buffer.concat([
  message(
    'E',
    Buffer.from(
      "SERROR\0CXX000\0MLoad into table 'x' failed. Check 'sys_load_error_detail' system table for details.\0\0",
    ),
  ),
  message('Z', Buffer.from('I')),
]);

/** Returns the rows of the files that a manifest names. */
async function rowsOf(bucket: Bucket, manifestUrl: string): Promise<string> {
  const keyOf = (url: string): string => url.slice(`s3://${bucket.name}/`.length);
  const manifest = JSON.parse(String((await bucket.read(keyOf(manifestUrl))).body)) as { entries: { url: string }[] };
  const files = await Promise.all(manifest.entries.map(async ({ url }) => (await bucket.read(keyOf(url))).body));
  return files.map((file) => String(gunzipSync(file))).join('');
}

/** Starts a proxy before the PostgreSQL on the port, which does Redshift's COPY with files of the bucket. */
export async function startRedshiftProxy(port: number, bucket: Bucket): Promise<RedshiftProxy> {
  const copies: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const onward = connect(port, '127.0.0.1');
    sockets.add(client).add(onward);
    client.on('error', () => {}).on('close', () => onward.destroy());
    onward.on('error', () => {}).on('close', () => client.destroy());
    let rows: string | undefined;
    client.on('data', (said) => {
      const text = said.toString('utf8', 5, said.length - 1);
      const found = said[0] === 0x51 ? /^(COPY .*?) FROM '(s3:(?:[^']|'')*)'/.exec(text) : null;
      if (found === null) {
        onward.write(said);
        return;
      }
      copies.push(text);
      rowsOf(bucket, (found[2] ?? '').replaceAll("''", "'")).then(
        (read) => {
          rows = asPostgres(read);
          onward.write(message('Q', Buffer.from(`${found[1]} FROM STDIN\0`)));
        },
        () => client.write(LOAD_FAILED),
      );
    });
    let answer = Buffer.alloc(0);
    onward.on('data', (piece) => {
      if (rows === undefined) client.write(piece);
      else if (answer.length === 0 && piece[0] === COPY_IN) {
        onward.write(message('d', Buffer.from(rows)));
        onward.write(message('c', Buffer.alloc(0)));
      } else {
        // The answer to the rows may come in pieces.
        answer = Buffer.concat([answer, piece]);
        if (!READY.equals(answer.subarray(-6, -1))) return;
        client.write(answer[0] === ERROR ? LOAD_FAILED : answer);
        [rows, answer] = [undefined, Buffer.alloc(0)];
      }
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    copies: () => [...copies],
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
