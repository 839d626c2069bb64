/**
 * The objects that a key's scope may name: PostHog's whole list, whatever rows exist here, so that keys and clients
 * made for it are accepted. `write` implies `read`; `*` is everything.
 */
// biome-ignore format: a list of words
export const SCOPE_OBJECTS = [
  'action', 'access_control', 'activity_log', 'alert', 'annotation', 'batch_export', 'batch_import', 'cohort', 'dashboard',
  'dashboard_template', 'dataset', 'early_access_feature', 'element', 'error_tracking', 'event_definition',
  'experiment', 'experiment_saved_metric', 'export', 'external_data_schema', 'external_data_source', 'feature_flag',
  'file_system', 'group', 'hog_flow', 'hog_function', 'insight', 'insight_variable', 'integration', 'llm_analytics',
  'notebook', 'organization', 'organization_member', 'person', 'personal_api_key', 'persisted_folder', 'plugin',
  'project', 'property_definition', 'query', 'session_recording', 'session_recording_playlist',
  'sharing_configuration', 'subscription', 'survey', 'task', 'user', 'warehouse_objects', 'warehouse_table',
  'warehouse_view', 'web_analytics', 'webhook',
] as const;

type ScopeObject = (typeof SCOPE_OBJECTS)[number];
export type Scope = `${ScopeObject}:${'read' | 'write'}`;

/** Returns whether a key with these scopes may do what needs `required`. An empty list may do nothing. */
export function isPermitted(held: readonly string[], required: Scope): boolean {
  if (held.includes('*') || held.includes(required)) return true;
  return required.endsWith(':read') && held.includes(required.replace(/:read$/, ':write'));
}

/** Returns whether a key with these limits opens a place. */
export const opens = <T>(limits: readonly T[], place: T): boolean => limits.length === 0 || limits.includes(place);

const OBJECTS: ReadonlySet<string> = new Set(SCOPE_OBJECTS);

/** Returns whether a text is a scope that a key can carry. */
export function isScope(text: string): boolean {
  const [object = '', action, ...rest] = text.split(':');
  return text === '*' || (rest.length === 0 && OBJECTS.has(object) && (action === 'read' || action === 'write'));
}
