/** Changes of persons that are not made, though their events are taken. */

/** Why a change, or a part of one, is not made, as PostHog calls it (but for too many distinct_ids); the sentence is for the project's people. */
export const PERSON_REFUSALS = {
  cannot_merge_already_identified:
    'The other person was identified before, and stays one of their own: only `$merge_dangerously` makes the two one.',
  cannot_merge_with_illegal_distinct_id:
    'One of the two distinct_ids is what programs send that do not know who it is, such as `anonymous` or `null`.',
  cannot_merge_too_many_distinct_ids:
    'The person would have more than 1,000 distinct_ids, or more than 64 MiB of properties with all of them.',
  person_properties_size_violation:
    'The properties of the person would have more than 512 KiB, or 64 MiB with all distinct_ids, and stay as they were.',
} as const;
export type PersonRefusal = keyof typeof PERSON_REFUSALS;

/** Changes that were not made, by reason, with how many they are, and the distinct_id of the last. */
export type RefusedChanges = Readonly<
  Partial<Record<PersonRefusal, { readonly changes: number; readonly distinctId: string }>>
>;

/** Returns both together; `later` came after. */
export function bothRefused(earlier: RefusedChanges, later: RefusedChanges): RefusedChanges {
  const both: { -readonly [reason in PersonRefusal]?: RefusedChanges[reason] } = { ...earlier };
  for (const [reason, { changes, distinctId }] of refusalsIn(later))
    both[reason] = { changes: (both[reason]?.changes ?? 0) + changes, distinctId };
  return both;
}

/** Returns how many they are. */
export const countRefused = (refused: RefusedChanges): number =>
  refusalsIn(refused).reduce((sum, [, { changes }]) => sum + changes, 0);

export const refusalsIn = (refused: RefusedChanges) =>
  Object.entries(refused) as [PersonRefusal, NonNullable<RefusedChanges[PersonRefusal]>][];
