import { Transient } from '../../../ports/errors.ts';
import type { Config, Delivery, Destination, Receipt } from '../destination.ts';
import { type Account, openSession, type Session } from './session.ts';

/**
 * Returns `deliver`, `commit` and `discard` of a destination where rows wait in an open session of the database,
 * unseen, until the commit. A commit without its session (the process died meanwhile) begins anew; it is up to
 * `prepare` and `finish` that rows which an earlier commit brought in are not brought in again.
 */
export function inSession<C extends Config>(work: {
  readonly account: (config: C) => Account;
  /** Does all but the visible act; returns the bytes that were sent. */
  readonly prepare: (session: Session, delivery: Delivery<C>) => Promise<number>;
  /** Does the visible act. */
  readonly finish: (session: Session, delivery: Delivery<C>) => Promise<void>;
}): Pick<Destination<C, Receipt, Session>, 'deliver' | 'commit' | 'discard'> {
  const deliver = async (delivery: Delivery<C>): Promise<{ receipt: Receipt; held: Session }> => {
    const held = await openSession(work.account(delivery.config), delivery);
    try {
      return { receipt: { bytes: await work.prepare(held, delivery) }, held };
    } catch (error) {
      await held.end();
      throw error;
    }
  };

  return {
    deliver,
    async commit(delivery, { held }) {
      const session = held ?? (await deliver(delivery)).held;
      try {
        await work.finish(session, delivery);
      } finally {
        await session.end();
      }
    },
    async discard(_delivery, prepared) {
      await prepared?.held?.end();
    },
  };
}

/** Commits the session's transaction. */
export async function commitTransaction(session: Session): Promise<void> {
  const { command } = await session.query('COMMIT');
  if (command !== 'COMMIT') throw new Transient(`The database answered ${command} to a commit.`);
}
