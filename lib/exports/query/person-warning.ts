/** What an export is told that reads the person of its events: only some events carry one. */
import { type Expression, fieldsIn } from '../../hogql/expression.ts';
import type { Selection } from './compile.ts';

const OF_PERSON: ReadonlySet<string> = new Set(['person_id', 'person_properties']);

const readsPerson = (expression: Expression): boolean =>
  fieldsIn([expression]).some(({ column }) => OF_PERSON.has(column));

/** Returns a warning where conditions, or columns that a query names, are of the event's own person; undefined: none are. */
export function personWarning({ select = null, where = null }: Partial<Selection>): string | undefined {
  const names = (select ?? []).flatMap((one) => ('all' in one || !readsPerson(one.expression) ? [] : [one.name]));
  const told = [
    ...(where !== null && readsPerson(where)
      ? [
          'A condition on a person passes none of them, and one that is negated, or asks for what is missing (`is_not`, ' +
            '`is_not_set` …), passes all.',
        ]
      : []),
    ...(names.length > 0 ? [`These columns are empty for them: ${names.join(', ')}.`] : []),
  ];
  if (told.length === 0) return undefined;
  return `Captured events carry no person, only imported ones may. ${told.join(' ')} Choose by properties of the event.`;
}
