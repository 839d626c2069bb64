/**
 * Whose projects land next. A pass ends before all have landed when there are many, so it takes them by organization in
 * turns: who has ten thousand projects holds up nobody who has one.
 */

import { getOrMake } from '../basics/maps.ts';
import { Recent } from '../basics/recent.ts';
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';

/** A project of which something waits. */
interface WaitingProject {
  readonly projectId: number;
  /** When the oldest request of it came, milliseconds since 1970. */
  readonly since: number;
}

/** So many are remembered: whom a project belongs to, and when an organization had its turn. */
const REMEMBERED = 50_000;

/** One has whoever lands, from pass to pass; a new one begins all turns anew. */
export class LandingTurns {
  readonly #owners = new Recent<string>(REMEMBERED);
  /** The turn that an organization had last, counted from 1. */
  readonly #had = new Recent<number>(REMEMBERED);
  #turns = 0;

  /**
   * Returns the first `most` of the projects in the order of their turns: the organizations one after the other, again and
   * again, whose turn was longest ago first; of each the project that waits longest.
   */
  async first({ table }: Pick<Context, 'table'>, waiting: readonly WaitingProject[], most: number): Promise<number[]> {
    await this.#learn(table, waiting);
    const byAge = waiting.toSorted((a, b) => a.since - b.since);
    const byOwner = Map.groupBy(byAge, ({ projectId }) => this.#ownerOf(projectId));
    // Who never had a turn comes first, of these who waits longest: the sort is stable.
    const hadOf = new Map([...byOwner.keys()].map((owner) => [owner, this.#had.get(owner) ?? 0]));
    const owners = [...byOwner.keys()].toSorted((a, b) => (hadOf.get(a) as number) - (hadOf.get(b) as number));
    const rounds = new Map<number, number[]>();
    for (const owner of owners)
      for (const [round, { projectId }] of (byOwner.get(owner) ?? []).slice(0, most).entries())
        getOrMake(rounds, round, (): number[] => []).push(projectId);
    return [...rounds.values()].flat().slice(0, most);
  }

  /** The project's organization has its turn. */
  take(projectId: number): void {
    this.#turns += 1;
    this.#had.set(this.#ownerOf(projectId), this.#turns);
  }

  /** Returns the organization of a project; of one that is not there any more nobody's. */
  #ownerOf(projectId: number): string {
    return this.#owners.get(String(projectId)) ?? '';
  }

  async #learn(table: Context['table'], waiting: readonly WaitingProject[]): Promise<void> {
    const unknown = waiting.filter(({ projectId }) => !this.#owners.has(String(projectId)));
    const items = await table.many(unknown.map(({ projectId }) => keys.project(projectId)));
    for (const [n, { projectId }] of unknown.entries()) {
      const owner = items[n]?.organization_id;
      if (owner !== undefined) this.#owners.set(String(projectId), owner);
    }
  }
}
