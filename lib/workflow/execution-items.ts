/** What the engine keeps in the table: executions, the items of their Maps, and definitions. */

import { DAY_MS } from '../basics/units.ts';
import { fromJsonText, type JsonText, toJsonText } from '../ports/table/json-text.ts';
import { idsIn } from '../ports/table/keys.ts';
import type { Item } from '../ports/table/table.ts';
import { ttlAt } from '../ports/table/ttl.ts';
import type { BranchPosition } from './interpreter.ts';
import type { ErrorOutput } from './messages.ts';
import type { ExecutionStatus, Json } from './workflow.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    execution: ExecutionItem;
    executionItem: MapItem;
    definition: DefinitionItem;
  }
}

/** An ended execution is known for 7 days. */
const ENDED_TTL_MS = 7 * DAY_MS;

/** An execution as stored. */
export interface ExecutionItem extends Item {
  readonly machine: string;
  /** Hash of its definition. */
  readonly definition: string;
  readonly input: JsonText<Json>;
  readonly status: ExecutionStatus;
  /** The position, until it has ended: the state, its input, its retries, until when it waits first. */
  readonly state: string;
  readonly data: JsonText<Json>;
  readonly retries: JsonText<readonly number[]>;
  readonly wake_at: number | null;
  /** The number of positions that were kept. It parts the items of one visit to a Map from those of an earlier one. */
  readonly visit: number;
  /** It has been in a Map: there may be items to remove. */
  readonly mapped: boolean;
  readonly parent: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
  /** Of a SUCCEEDED one. */
  readonly output: JsonText<Json> | null;
  /** Of any other that has ended. */
  readonly error: JsonText<ErrorOutput> | null;
}

/** One visit of a Map's item: its position, and its output once it has ended. */
export interface MapItem extends Item, Pick<ExecutionItem, 'state' | 'data' | 'retries' | 'wake_at'> {
  readonly visit: number;
  readonly output?: JsonText<Json>;
}

/** A definition of a machine, by its hash. */
interface DefinitionItem extends Item {
  readonly definition: JsonText<unknown>;
}

/** An item of a Map as it was read: its position, or its output once it has ended. */
export interface KeptItem {
  readonly position?: BranchPosition;
  readonly output?: Json;
}

/** The fields of an execution's position: what has ended has none. */
export const POSITION = ['state', 'data', 'retries', 'wake_at'];
/** The fields of its place among the running ones. */
export const INDEX = ['second_pk', 'second_sk'];

/** Returns the name of an execution as stored. */
export const nameOf = (item: Item): string => idsIn.execution(item);

/** Returns when an execution that has ended is forgotten, in seconds since 1970: the table's `ttl`. */
export const endedTtl = (endedAt: number): number => ttlAt(endedAt + ENDED_TTL_MS);

/** Returns the fields in which a position is stored; `positionOf` reads them. */
export const stored = ({ state, data, retries, wakeAt }: BranchPosition) => ({
  state,
  data: toJsonText(data),
  retries: toJsonText(retries),
  wake_at: wakeAt,
});

/** Returns the position of an execution, or of an item of a Map. */
export const positionOf = ({ state, data, retries, wake_at }: ExecutionItem | MapItem): BranchPosition => ({
  state,
  data: fromJsonText(data),
  retries: fromJsonText(retries),
  wakeAt: wake_at,
});
