import { hash } from 'node:crypto';
import { messageOf } from '../basics/text.ts';
import type { Log } from '../ports/log.ts';
import { fromJsonText, type JsonText, toJsonText } from '../ports/table/json-text.ts';
import { keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Table } from '../ports/table/table.ts';
import { type Definition, type Flow, readDefinition } from './states-language.ts';

/** What an execution runs through. */
export type MachineFlow = Flow & { readonly TimeoutSeconds?: number | undefined };

/** A state machine of this process. */
interface Machine {
  readonly hash: string;
  readonly text: JsonText<unknown>;
  readonly flow: MachineFlow;
}

/** The state machines of this process, and in the table, by hash, those that executions have begun with. */
export class DefinitionStore {
  readonly #table: Table;
  readonly #log: Log;
  readonly #machines: ReadonlyMap<string, Machine>;
  #stored: Promise<void> | undefined;

  /** Throws `DefinitionRefused` when one of the machines is outside the subset. */
  constructor(table: Table, log: Log, machines: Readonly<Record<string, Definition>>) {
    this.#table = table;
    this.#log = log;
    this.#machines = new Map(
      Object.entries(machines).map(([name, definition]) => {
        const text = toJsonText<unknown>(definition);
        return [name, { hash: hash('sha256', text), text, flow: readDefinition(name, definition) }];
      }),
    );
  }

  /** Returns a machine of this process by its name. */
  machine(name: string): Machine | undefined {
    return this.#machines.get(name);
  }

  /** Stores the definitions of this process by hash, once. */
  store(): Promise<void> {
    this.#stored ??= (async () => {
      for (const { hash, text } of this.#machines.values()) {
        await this.#table.write([{ put: { ...keys.definition(hash), definition: text } }]);
      }
    })();
    this.#stored.catch(() => {
      this.#stored = undefined;
    });
    return this.#stored;
  }

  /** Returns the definitions with these hashes, and removes those that nobody uses any more. */
  async flows(used: ReadonlySet<string>): Promise<Map<string, MachineFlow>> {
    const flows = new Map([...this.#machines.values()].map(({ hash, flow }) => [hash, flow]));
    for (const item of await listAll(this.#table, ranges.definitions())) {
      const hash = item.sk;
      if (flows.has(hash)) continue;
      if (!used.has(hash)) {
        await this.#table.write([{ remove: item }]);
        continue;
      }
      try {
        flows.set(hash, readDefinition('of an earlier version', fromJsonText(item.definition)));
      } catch (error) {
        this.#log.error('a definition of an earlier version is refused', { reason: messageOf(error) });
      }
    }
    return flows;
  }
}
