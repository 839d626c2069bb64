/** Worlds of insights over events and persons that a test writes down. */
import { basename } from 'node:path';
import type { LookingWorld, Moment, WorldFile } from '../../lib/insights/answering/looking-world.ts';
import { worldDatabase } from '../../lib/insights/answering/world.ts';
import { folderFiles } from '../../lib/ports/files/folder.ts';
import { folderOfFile, START, temporaryFolder } from './context.ts';
import { type PersonRow, type Row, writePersons, writeRows } from './lake-rows.ts';
import { onePerFile } from './on-end.ts';
import { parser } from './parser.ts';

export interface WorldEvent {
  readonly event: string;
  readonly distinct_id: string;
  /** ISO 8601, or milliseconds since 1970 with fractions to the microsecond. */
  readonly timestamp: string | number;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly person_properties?: Readonly<Record<string, unknown>>;
  /** The id that the event carries. */
  readonly person_id?: string;
  readonly uuid?: string;
  readonly elements_chain?: string;
}

export interface WorldPerson {
  readonly id: string;
  readonly distinct_ids: readonly string[];
  /** Default: the start of 2026. */
  readonly created_at?: string | number;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly is_identified?: boolean;
  readonly is_deleted?: boolean;
}

/** What a test asks a kind of query, and of which world. */
export interface Asked {
  readonly events: readonly WorldEvent[];
  readonly persons?: readonly WorldPerson[];
  readonly query: Readonly<Record<string, unknown>>;
  readonly moment?: Partial<Moment>;
}

const ms = (instant: string | number): number => (typeof instant === 'number' ? instant : Date.parse(instant));

/** The DuckDB of a file's worlds, each of which has a folder in its lake, as one reads all projects of a lake. */
const worldsOfFile = onePerFile(
  () => worldDatabase({ lake: folderFiles(folderOfFile()), parser }),
  (worlds) => worlds.close(),
);

const uuidOf = (n: number): string => `01940000-0000-7000-8000-${String(n).padStart(12, '0')}`;

/** Returns a world. Later persons are newer states of their distinct_ids: so one takes over what another had. */
export async function insightWorld(
  { events, persons = [] }: { readonly events: readonly WorldEvent[]; readonly persons?: readonly WorldPerson[] },
  moment: Partial<Moment> = {},
): Promise<LookingWorld> {
  const folder = temporaryFolder();
  const lake = folderFiles(folder);
  const rows = events.map(
    (one, n): Partial<Row> => ({
      uuid: one.uuid ?? uuidOf(n + 1),
      event: one.event,
      distinct_id: one.distinct_id,
      properties: JSON.stringify(one.properties ?? {}),
      timestamp_us: Math.round(ms(one.timestamp) * 1000),
      person_id: one.person_id ?? null,
      person_properties: one.person_properties === undefined ? null : JSON.stringify(one.person_properties),
      elements_chain: one.elements_chain ?? null,
    }),
  );
  const states = persons.flatMap((person, n) =>
    person.distinct_ids.map(
      (distinct_id): Partial<PersonRow> => ({
        distinct_id,
        person_id: person.id,
        properties: JSON.stringify(person.properties ?? {}),
        created_us: ms(person.created_at ?? START) * 1000,
        inserted_us: (START + n) * 1000,
        person_version: (START + n) * 1000,
        person_distinct_id_version: (START + n) * 1000,
        is_identified: person.is_identified ?? false,
        is_deleted: person.is_deleted ?? false,
        distinct_ids: person.distinct_ids.length,
      }),
    ),
  );
  const instants = rows.map((row) => Math.floor(Number(row.timestamp_us) / 1000));
  const between = { min_timestamp: Math.min(...instants), max_timestamp: Math.max(...instants) };
  const listed = async (files: ReturnType<typeof writeRows>): Promise<WorldFile[]> =>
    (await files).map((file) => ({ ...file, path: `${basename(folder)}/${file.path}`, ...between }));
  return worldsOfFile().world(
    {
      events: rows.length === 0 ? [] : await listed(writeRows(lake, [rows])),
      persons: states.length === 0 ? [] : await listed(writePersons(lake, [states])),
    },
    { now: START, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [], ...moment },
  );
}
