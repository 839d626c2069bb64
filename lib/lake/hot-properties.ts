/** The hot properties by name, for those too who have no DuckDB. */

/** Those of every project. */
export const HOT_PROPERTIES = [
  '$browser',
  '$os',
  '$device_type',
  '$current_url',
  '$pathname',
  '$host',
  '$referring_domain',
  '$session_id',
  '$process_person_profile',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
  '$lib',
  '$geoip_country_code',
] as const;

const BUILT_IN: ReadonlySet<string> = new Set(HOT_PROPERTIES.map((property) => property.toLowerCase()));

/** Whether a property has a column in files of every project, or its name in another letter case has. */
export const isHot = (property: string): boolean => BUILT_IN.has(property.toLowerCase());
