/** Persons as they are now: of each distinct_id its newest row says whose it is. */
import type * as z from 'zod';
import { isObject } from '../../basics/json.ts';
import { wireInstant } from '../../http/instant.ts';
import { parseLegible } from '../../lake/sources/exact-json.ts';
import { invalid } from '../../ports/errors.ts';
import { LAKE_ROWS } from '../../warehouse/reader.ts';
import { fittingIn, MOST_SORTED_WHOLE } from '../fitting.ts';
import { type Given, readingParameters } from '../parameters.ts';
import { propertyConditions, type propertyFilters } from '../property-filter.ts';
import { cursorOf, sortKeyOf } from '../row-cursor.ts';
import type { Look } from '../waiting.ts';
import type { FoundRow, Person, PersonRow, StateRow } from './model.ts';

/** Which persons are asked for. Absent: any. */
interface PersonsAsked {
  readonly id?: string | undefined;
  readonly search?: string | undefined;
  readonly distinctId?: string | undefined;
  readonly properties?: ReturnType<typeof propertyFilters>;
  readonly cursor?: string | undefined;
  /** So many of them are passed over. */
  readonly offset?: number;
}

/** A person's distinct_ids that are shown. */
const MAX_DISTINCT_IDS = 1_000;

/** What an event shows of its person; a value that is longer is nobody's name. */
const MAX_SHOWN = 400;
const shown = ['email', 'name', 'username'].map((name) => {
  const value = `json_extract(properties, '$.${name}')`;
  return `'${name}', CASE WHEN strlen(${value}::VARCHAR) <= ${MAX_SHOWN} THEN ${value} END`;
});
/** SQL of a JSON object of them, without those that are not there. */
const SHOWN = `json_merge_patch('{}', json_object(${shown.join(', ')}))::VARCHAR`;

/** Returns the states of those of the distinct_ids that have a person. */
export async function newestStates(look: Look, distinctIds: readonly string[]): Promise<readonly StateRow[]> {
  if (distinctIds.length === 0) return [];
  const { parameters, given } = readingParameters();
  const asked = distinctIds.map((id, n) => given(`id${n}`, id));
  const { rows } = await look.rows<StateRow>({
    files: await look.files('persons'),
    parameters,
    sql: `SELECT distinct_id, coalesce(is_identified, false) AS is_identified, ${SHOWN} AS shown FROM (
        SELECT * FROM ${LAKE_ROWS} WHERE distinct_id IN (${asked.join(', ')})
        QUALIFY row_number() OVER (PARTITION BY distinct_id ORDER BY inserted_us DESC) = 1
      ) WHERE NOT is_deleted`,
  });
  return rows;
}

/** Returns the distinct_ids that a person has now. Throws a 400 when there are too many to look for. */
export async function distinctIdsOf(look: Look, id: string): Promise<string[]> {
  const { rows } = await newestPersons(look, { id }, 1);
  const found = rows[0]?.distinct_ids ?? [];
  if (found.length === MAX_DISTINCT_IDS)
    invalid('person_id', `The person has ${MAX_DISTINCT_IDS} distinct_ids or more. Ask by distinct_id instead.`);
  return [...found];
}

const NEWEST_FIRST = 'ORDER BY persons.created_us DESC, person_id DESC';

/** SQL of the rows that persons show, from FROM on. */
const shownRows = (persons: string): string =>
  `FROM ${persons} JOIN states USING (person_id) JOIN ${LAKE_ROWS} USING (distinct_id, inserted_us, person_id)
      WHERE distinct_id = shown`;

/** Returns persons, the newest first, `limit` of them at most or what fits into an answer, and the cursor of the rest. */
export async function newestPersons(
  look: Look,
  asked: PersonsAsked,
  limit: number,
): Promise<{ rows: PersonRow[]; next: string | undefined }> {
  const place = asked.cursor === undefined ? undefined : sortKeyOf(asked.cursor, 2);
  const { parameters, given } = readingParameters();
  const matching = matchOf(asked, given);
  const persons = [
    ...(asked.id === undefined ? [] : [`person_id = ${given('id', asked.id)}`]),
    ...(matching === undefined
      ? []
      : [
          `person_id IN (SELECT person_id FROM ${LAKE_ROWS} JOIN states USING (distinct_id, inserted_us, person_id)
           WHERE ${matching})`,
        ]),
    ...(place === undefined
      ? []
      : [`(created_us, person_id) < (${given('place0', place[0] ?? '')}::BIGINT, ${given('place1', place[1] ?? '')})`]),
  ];
  const whole = { fitting: '', shown: 'persons' };
  const cut = {
    fitting: `, sizes AS MATERIALIZED (
      SELECT person_id, persons.created_us, strlen(properties) AS bytes ${shownRows('persons')}
    ), fitting AS MATERIALIZED (SELECT person_id FROM sizes AS persons ${fittingIn(NEWEST_FIRST)})`,
    shown: '(FROM persons SEMI JOIN fitting USING (person_id)) AS persons',
  };
  const { fitting, shown } = limit < MOST_SORTED_WHOLE ? whole : cut;
  // Properties are read of the page's persons only: those of all would have to be held.
  const read = await look.rows<PersonRow>({
    files: await look.files('persons'),
    parameters,
    sql: `WITH states AS MATERIALIZED (
        SELECT distinct_id, inserted_us, person_id, created_us, person_version FROM (
          SELECT distinct_id, max(inserted_us) AS inserted_us, arg_max(person_id, inserted_us) AS person_id,
            arg_max(created_us, inserted_us) AS created_us, arg_max(person_version, inserted_us) AS person_version,
            arg_max(is_deleted, inserted_us) AS is_deleted
          FROM ${LAKE_ROWS} GROUP BY distinct_id
        ) WHERE NOT is_deleted
      ), persons AS MATERIALIZED (
        SELECT person_id, min(created_us) AS created_us, max(inserted_us) AS version, min(distinct_id) AS shown,
          (list(distinct_id ORDER BY distinct_id))[:${MAX_DISTINCT_IDS}] AS distinct_ids
        FROM states GROUP BY person_id HAVING ${['true', ...persons].join(' AND ')}
        ORDER BY created_us DESC, person_id DESC LIMIT ${limit + 1} OFFSET ${asked.offset ?? 0}
      )
      ${fitting}
      SELECT person_id, persons.distinct_ids, properties, coalesce(is_identified, false) AS is_identified, persons.created_us::VARCHAR AS created,
        version::VARCHAR AS version
      ${shownRows(shown)}
      ${NEWEST_FIRST}`,
  });
  const rows = read.rows.slice(0, limit);
  const last = rows.at(-1);
  const hasMore = read.isCut || rows.length < read.rows.length;
  return { rows, next: hasMore && last !== undefined ? cursorOf([last.created, last.person_id]) : undefined };
}

/** SQL of the texts in a parameter that is JSON of a list. */
const namesIn = (parameter: string): string => `(SELECT unnest(from_json($${parameter}, '["VARCHAR"]')))`;

/** Returns who is known by any of these ids or distinct_ids. */
export async function personsBy(
  look: Look,
  { ids, distinctIds }: { readonly ids: readonly string[]; readonly distinctIds: readonly string[] },
): Promise<readonly FoundRow[]> {
  const { rows, isCut } = await look.rows<FoundRow>({
    files: await look.files('persons'),
    parameters: { ids: JSON.stringify(ids), distinct_ids: JSON.stringify(distinctIds) },
    sql: `WITH states AS (
        SELECT distinct_id, max(inserted_us) AS inserted_us, arg_max(person_id, inserted_us) AS person_id,
          distinct_id IN ${namesIn('distinct_ids')} AS is_asked
        FROM ${LAKE_ROWS} GROUP BY distinct_id HAVING NOT arg_max(is_deleted, inserted_us)
      )
      SELECT person_id, min(distinct_id) AS distinct_id, max(inserted_us)::VARCHAR AS version,
        coalesce(list(distinct_id) FILTER (is_asked), []) AS asked
      FROM states GROUP BY person_id HAVING bool_or(is_asked) OR person_id IN ${namesIn('ids')}`,
  });
  // Whoever is not told of would stay without a word.
  if (isCut) invalid('distinct_ids', 'These are too long to be looked for together. Name fewer at a time.');
  return rows;
}

/** The condition that a state of a person must hold for them to be asked for; undefined: any does. */
function matchOf({ search, distinctId, properties = [] }: PersonsAsked, given: Given): string | undefined {
  const conditions = [
    ...(distinctId === undefined ? [] : [`distinct_id = ${given('distinct_id', distinctId)}`]),
    ...(search === undefined
      ? []
      : [
          `(distinct_id = ${given('search', search)} OR ${['email', 'name']
            .map(
              (name) => `contains(lower(coalesce(json_extract_string(properties, '$.${name}'), '')), lower($search))`,
            )
            .join(' OR ')})`,
        ]),
    ...propertyConditions(properties, given),
  ];
  return conditions.length === 0 ? undefined : conditions.join(' AND ');
}

/** What a person is called by, the first that they have. */
const NAMES = ['email', 'Email', '$email', 'name', 'Name', 'username', 'Username', 'UserName'];

/** Returns a person as they are answered. */
export function personObject({
  person_id,
  distinct_ids,
  properties,
  is_identified,
  created,
}: PersonRow): z.output<typeof Person> {
  const all = parseLegible(properties);
  const names = NAMES.map((name) => (isObject(all) && Object.hasOwn(all, name) ? all[name] : undefined));
  const name = names.find((found): found is string => typeof found === 'string' && found !== '');
  return {
    id: person_id,
    name: name ?? distinct_ids[0] ?? person_id,
    distinct_ids: [...distinct_ids],
    properties: all,
    is_identified,
    created_at: wireInstant(Math.floor(Number(created) / 1000)),
    uuid: person_id,
  };
}
