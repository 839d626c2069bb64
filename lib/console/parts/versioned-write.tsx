import { type ReactNode, useRef, useState } from 'react';
import { Refusal, type Versioned } from '../client/api.ts';
import { ConflictNotice, type Disputed } from './conflict-notice.tsx';
import { tellProblem } from './problem.tsx';

const PRECONDITION_FAILED = 412;

interface VersionedWriteOptions<Change, Value> {
  /** What is changed, such as `the export`. */
  readonly what: string;
  readonly read: () => Promise<Versioned<Value>>;
  /** Writes a change over a version, shows what it has become, and returns it. */
  readonly write: (change: Change, over: Versioned<Value>) => Promise<Versioned<Value>>;
  /** Returns the fields of a change in both versions. */
  readonly disputed: (change: Change, theirs: Value) => readonly Disputed[];
  /** Shows what others have made of it. */
  readonly look: (theirs: Versioned<Value>) => void;
  /** Says what is wrong with a change that was to be written over theirs; default: for a while, in a corner. */
  readonly attempt?: (act: () => Promise<void>) => Promise<unknown>;
}

interface VersionedWrite<Change, Value> {
  /**
   * Writes a change, unless somebody else was faster. Throws the `Refusal` of anything else. What is sent while another change
   * is under way follows it, over what that one has made.
   */
  readonly send: (change: Change, over: Versioned<Value>) => Promise<void>;
  /** Both versions, where somebody else was. */
  readonly notice: ReactNode;
}

/** Writes over the version that was seen, and asks whose is to stay where somebody else was faster. */
export function useVersionedWrite<Change, Value>({
  what,
  read,
  write,
  disputed,
  look,
  attempt = (act) => act().catch(tellProblem),
}: VersionedWriteOptions<Change, Value>): VersionedWrite<Change, Value> {
  const [conflict, setConflict] = useState<{ change: Change; theirs: Versioned<Value> } | null>(null);
  const underWay = useRef<Promise<Versioned<Value> | undefined>>(undefined);
  const written = async (change: Change, over: Versioned<Value>): Promise<Versioned<Value> | undefined> => {
    try {
      return await write(change, over);
    } catch (problem) {
      if (!(problem instanceof Refusal && problem.status === PRECONDITION_FAILED)) throw problem;
      setConflict({ change, theirs: await read() });
      return undefined;
    }
  };
  const send = async (change: Change, over: Versioned<Value>): Promise<void> => {
    const before = underWay.current;
    const mine = (async () => written(change, (await before) ?? over))();
    const ended = mine.catch(() => undefined);
    underWay.current = ended;
    try {
      await mine;
    } finally {
      if (underWay.current === ended) underWay.current = undefined;
    }
  };
  const notice = conflict !== null && (
    <ConflictNotice
      what={what}
      disputed={disputed(conflict.change, conflict.theirs.value)}
      keep={() => {
        setConflict(null);
        look(conflict.theirs);
      }}
      replace={() => {
        setConflict(null);
        void attempt(() => send(conflict.change, conflict.theirs));
      }}
    />
  );
  return { send, notice };
}
