/** Who is to be deleted by a request that names many. */

import type { ActivityOps } from '../../accounts/activity/model.ts';
import { nameOfCaptured } from '../../capture/normalize.ts';
import type { DeletedPerson } from '../../lake/import/delete-person.ts';
import { forgottenId } from '../../lake/persons/forgotten-id.ts';
import { invalid } from '../../ports/errors.ts';
import type { FoundRow } from './model.ts';

/** So many are deleted at once, as PostHog does. */
const MAX_TOGETHER = 1_000;

interface NamedPersons {
  readonly ids?: readonly string[] | undefined;
  readonly distinct_ids?: readonly string[] | undefined;
}

/**
 * Returns what a request names, each once, a distinct_id also as captured events have it, which are cut where it is long.
 * Throws a 400 when that is nobody, or too many.
 */
export function namedPersons({ ids = [], distinct_ids = [] }: NamedPersons) {
  const [named, asked] = [new Set(ids), new Set(distinct_ids)];
  const many = named.size + asked.size;
  if (many === 0) invalid(null, 'Name who: `ids`, `distinct_ids` or both.');
  if (many > MAX_TOGETHER) invalid(null, `At most ${MAX_TOGETHER} \`ids\` and \`distinct_ids\` together at a time.`);
  return { ids: [...named], distinctIds: [...new Set([...asked].flatMap((one) => [one, nameOfCaptured(one)]))] };
}

/**
 * Returns who is to be deleted: who was found, and, where events are to go, each distinct_id that nobody was found by. The
 * activity log tells of the latter by what is kept of a distinct_id that is forgotten.
 */
export function deletionsOf(
  found: readonly FoundRow[],
  distinctIds: readonly string[],
  withEvents: boolean,
  activityOps: ActivityOps,
): DeletedPerson[] {
  const telling = (id: string) => activityOps({ scope: 'Person', id, name: null, activity: 'deleted' });
  const known = new Set(found.flatMap(({ asked }) => asked));
  const strangers = withEvents ? distinctIds.filter((id) => !known.has(id)) : [];
  return [
    ...found.map(({ person_id: id, distinct_id: distinctId, version }) => ({
      distinctId,
      person: { id, version: Number(version) },
      withEvents,
      telling: telling(id),
    })),
    ...strangers.map((distinctId) => ({
      distinctId,
      person: null,
      withEvents,
      telling: telling(forgottenId(distinctId)),
    })),
  ];
}
