import { Transient } from '../../ports/errors.ts';
import type { Config, Delivery, Destination } from './destination.ts';
import { type Account, openSession, type Session } from './postgres-session.ts';

/** Sessions that wait for their commit, by the config that each attempt is given: no two attempts share the object. */
const waiting = new WeakMap<Config, Session>();

function take(config: Config): Session | undefined {
  const session = waiting.get(config);
  waiting.delete(config);
  return session;
}

/**
 * `deliver`, `commit` and `discard` where rows wait in an open session of the database, unseen, until the commit. A
 * commit without its session (the process died meanwhile) begins anew; it is up to `prepare` and `finish` that rows
 * which an earlier commit brought in are not brought in again.
 */
export function inSession<C extends Config>(work: {
  readonly account: (config: C) => Account;
  /** All but the visible act; gives the bytes that were sent. */
  readonly prepare: (session: Session, delivery: Delivery<C>) => Promise<number>;
  readonly finish: (session: Session, delivery: Delivery<C>) => Promise<void>;
}): Pick<Destination<C>, 'deliver' | 'commit' | 'discard'> {
  const prepared = async (delivery: Delivery<C>): Promise<{ session: Session; bytes: number }> => {
    const session = await openSession(work.account(delivery.config), delivery);
    try {
      return { session, bytes: await work.prepare(session, delivery) };
    } catch (error) {
      await session.end();
      throw error;
    }
  };

  return {
    async deliver(delivery) {
      const { session, bytes } = await prepared(delivery);
      waiting.set(delivery.config, session);
      return { bytes };
    },
    async commit(delivery) {
      const session = take(delivery.config) ?? (await prepared(delivery)).session;
      try {
        await work.finish(session, delivery);
      } finally {
        await session.end();
      }
    },
    async discard({ config }) {
      await take(config)?.end();
    },
  };
}

/** Commits the session's transaction. */
export async function commitTransaction(session: Session): Promise<void> {
  const { command } = await session.query('COMMIT');
  if (command !== 'COMMIT') throw new Transient(`The database answered ${command} to a commit.`);
}
