import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { type At, Refusal, type Versioned } from '../client/api.ts';
import { ConflictNotice, type Disputed } from './conflict-notice.tsx';

const INVALID = 400;
const PRECONDITION_FAILED = 412;

const isRefusal = (problem: unknown, status: number): boolean =>
  problem instanceof Refusal && problem.status === status;

/** Own changes of one thing: each follows the one before, and what it makes is known. */
export interface OwnChanges<Value> {
  /** Acts when what was sent before is done. */
  readonly inTurn: <T>(act: () => Promise<T>) => Promise<T>;
  /**
   * Does in its turn what changes the thing in another way than by a write of it, as sharing a dashboard does, and shows
   * what it has become. Throws what the act does, and the `Refusal` of reading the thing before.
   */
  readonly beside: <T>(act: () => Promise<T>) => Promise<T>;
  /** Returns what own changes have made of a version: nobody else has been between. */
  readonly newestOf: (seen: Versioned<Value>) => Versioned<Value>;
  /** Remembers what an own change has made of a version, and shows it. */
  readonly made: (over: Versioned<Value>, version: Versioned<Value>) => void;
  /** Shows a version: it is what is known of the thing from then on. */
  readonly show: (version: Versioned<Value>) => void;
}

/** Keeps the own changes of one thing, as long as the page of it is there. */
export function useOwnChanges<Value>({ queryKey, queryFn: read }: At<Value>): OwnChanges<Value> {
  const queries = useQueryClient();
  const last = useRef<Promise<unknown>>(Promise.resolve());
  /** What own changes have made of versions, by the ETags of those. */
  const versions = useRef(new Map<string | null, Versioned<Value>>());

  const inTurn: OwnChanges<Value>['inTurn'] = (act) => {
    const turn = last.current.then(act);
    last.current = turn.catch(() => undefined);
    return turn;
  };
  const newestOf: OwnChanges<Value>['newestOf'] = (seen) => {
    const next = versions.current.get(seen.etag);
    return next === undefined ? seen : newestOf(next);
  };
  const show: OwnChanges<Value>['show'] = (version) => void queries.setQueryData(queryKey, version);
  const made: OwnChanges<Value>['made'] = (over, version) => {
    // What changes nothing makes no other version.
    if (version.etag !== over.etag) versions.current.set(over.etag, version);
    show(version);
  };
  const beside: OwnChanges<Value>['beside'] = (act) =>
    inTurn(async () => {
      // What others have changed until now is not for later changes to go over unseen.
      const before = await read();
      const done = await act();
      // The act may have closed it to the reader: that is for the page to say.
      const after = await read().catch(() => undefined);
      if (after !== undefined) made(before, after);
      return done;
    });
  return { inTurn, beside, newestOf, made, show };
}

interface VersionedWriteOptions<Change, Value> {
  /** What is changed, such as `the export`. */
  readonly what: string;
  readonly at: At<Value>;
  /** Writes a change over a version, and returns what it has become. */
  readonly write: (change: Change, over: Versioned<Value>) => Promise<Versioned<Value>>;
  /** Follows what it has become and is shown, by the reader's `own` change or, without one, by that of others. */
  readonly shown?: (version: Versioned<Value>, own?: Change) => void;
  /** Follows what is written and shown: lists to be read again, what is told. */
  readonly written?: (version: Versioned<Value>, own: Change) => unknown;
  /** Returns the fields of a change in both versions. */
  readonly disputed: (change: Change, theirs: Value) => readonly Disputed[];
  /** Default: those of this hook. */
  readonly own?: OwnChanges<Value>;
  /** Says what is wrong with what was written, where that stands below the notice and can be mended. */
  readonly attempt?: (act: () => Promise<unknown>) => Promise<unknown>;
}

interface VersionedWrite<Change, Value> {
  /**
   * Writes a change of the version that was seen, after those that were sent before. Resolves to whether it is written: not
   * where somebody else was faster. Throws the `Refusal` of anything else.
   */
  readonly send: (change: Change, seen: Versioned<Value>) => Promise<boolean>;
  /** Does in the same order what changes the thing in another way. */
  readonly beside: OwnChanges<Value>['beside'];
  /** The changes that are sent and not written yet, in their order, for those who show them at once. */
  readonly underWay: readonly Change[];
  /** Both versions, where somebody else was faster. */
  readonly notice: ReactNode;
}

/** Writes over the version that was seen, and asks whose is to stay where somebody else was faster. */
export function useVersionedWrite<Change, Value>({
  what,
  at,
  write,
  shown,
  written,
  disputed,
  own,
  attempt,
}: VersionedWriteOptions<Change, Value>): VersionedWrite<Change, Value> {
  const [conflicts, setConflicts] = useState<readonly { change: Change; theirs: Versioned<Value> }[]>([]);
  const [underWay, setUnderWay] = useState<readonly Change[]>([]);
  const ofThisHook = useOwnChanges(at);
  const { inTurn, beside, newestOf, made, show } = own ?? ofThisHook;

  /** Returns what was written; undefined: somebody else was faster. */
  const put = async (change: Change, over: Versioned<Value>): Promise<Versioned<Value> | undefined> => {
    try {
      const version = await write(change, over);
      made(over, version);
      shown?.(version, change);
      return version;
    } catch (problem) {
      if (!isRefusal(problem, PRECONDITION_FAILED)) throw problem;
      const theirs = await at.queryFn();
      setConflicts((all) => [...all, { change, theirs }]);
      return undefined;
    } finally {
      setUnderWay((all) => all.filter((one) => one !== change));
    }
  };
  const send = async (change: Change, seen: Versioned<Value>): Promise<boolean> => {
    setUnderWay((all) => [...all, change]);
    const version = await inTurn(() => put(change, newestOf(seen)));
    if (version === undefined) return false;
    await written?.(version, change);
    return true;
  };

  const [conflict] = conflicts;
  const end = (): void => setConflicts(([, ...others]) => others);
  const notice = conflict !== undefined && (
    <ConflictNotice
      what={what}
      disputed={disputed(conflict.change, conflict.theirs.value)}
      keep={() => {
        end();
        show(conflict.theirs);
        shown?.(conflict.theirs);
      }}
      replace={async () => {
        await send(conflict.change, conflict.theirs).catch((problem: unknown) => {
          if (attempt === undefined || !isRefusal(problem, INVALID)) throw problem;
          void attempt(() => Promise.reject(problem));
        });
        end();
      }}
    />
  );
  return { send, beside, underWay, notice };
}
