/**
 * Idempotency-Key: a repeat of a request that created something is answered with that object again. The record of the
 * key is written in the create's own transaction, so it exists exactly when the object does.
 */

import { createHmac, hash } from 'node:crypto';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { DAY_MS } from '../basics/units.ts';
import { Failure } from '../ports/errors.ts';
import { keys } from '../ports/table/keys.ts';
import type { Item, Op, Table } from '../ports/table/table.ts';
import { ttlAt } from '../ports/table/ttl.ts';
import { bytesOf } from './body.ts';
import { headerOf } from './header.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    idempotency: IdempotencyItem;
  }
}

/** A key is remembered for 24 hours. */
const RETENTION_MS = DAY_MS;

/** The record of a key whose request succeeded. */
interface IdempotencyItem extends Item {
  /**
   * HMAC-SHA256 of the body as sent, which may hold secrets, under the value of the API key that sent it: of that the
   * table has only a hash, so nothing that can be guessed of a body can be found out from here.
   */
  readonly body: string;
  readonly status: number;
  /** The id of the object that was created. */
  readonly object: string;
}

/** The Idempotency-Key of one request. */
export interface IdempotencyKey {
  /** Returns the id of what an earlier request with this key created. Throws a 409 for another body or API key. */
  find(): Promise<string | undefined>;
  /** Returns the ops that the create adds to its transaction. */
  ops(objectId: string): Op[];
}

const USED_OTHERWISE = 'The Idempotency-Key was used before with another request body, or another API key.';

/** Returns the request's Idempotency-Key; undefined when it has none. Throws a 400 when it cannot be one. */
export function idempotencyKeyOf(
  event: APIGatewayProxyEvent,
  status: number,
  userId: string,
  { table, clock }: { readonly table: Table; readonly clock: () => number },
): IdempotencyKey | undefined {
  const sent = headerOf(event.headers, 'idempotency-key');
  if (sent === undefined) return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(sent)) {
    throw new Failure('validation', { detail: 'The Idempotency-Key must be 1 to 255 ASCII characters.' });
  }
  const path = event.path.replace(/\/$/, '');
  const key = keys.idempotency(userId, hash('sha256', JSON.stringify([event.httpMethod, path, sent])));
  const apiKey = headerOf(event.headers, 'authorization')?.trim() ?? '';
  const body = createHmac('sha256', apiKey).update(bytesOf(event)).digest('hex');
  return {
    async find() {
      const record = await table.get(key);
      if (record !== undefined && record.body !== body) {
        throw new Failure('conflict', { detail: USED_OTHERWISE });
      }
      return record?.object;
    },
    ops(object) {
      const ttl = ttlAt(clock() + RETENTION_MS);
      return [{ put: { ...key, body, status, object, ttl }, if: 'absent' }];
    },
  };
}
