/** What the key may do, and where its user is. */
import { useQuery } from '@tanstack/react-query';
import { MINUTE_MS } from '../../basics/units.ts';
import { ADDRESS, type At, answered, api, type Schemas, unlessForbidden, versioned } from './api.ts';
import { useSessionKey } from './session.ts';

/** Returns the key that somebody has signed in with, as the API describes it. */
export function useOwnKey() {
  const key = useSessionKey();
  return useQuery({
    queryKey: ['own-key', key],
    enabled: key !== null,
    staleTime: MINUTE_MS,
    // Whose it was is asked when the session has ended, whenever they come back.
    gcTime: Number.POSITIVE_INFINITY,
    queryFn: () => answered(api.GET('/api/personal_api_keys/{id}/', { params: { path: { id: '@current' } } })),
  });
}

/**
 * Returns what the service says of a key with which nobody has signed in yet; null: it does not know it. Throws the
 * `Refusal` of anything else, which says nothing about the key.
 */
export async function readKey(key: string): Promise<Schemas['PersonalApiKey'] | null> {
  // What no header can hold is no key, and would not be sent.
  if (!/^[!-~]*$/.test(key)) return null;
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${ADDRESS}/api/personal_api_keys/@current/`, { headers });
  if (response.status === 401) return null;
  if (response.ok) return (await response.json()) as Schemas['PersonalApiKey'];
  return answered(Promise.resolve({ response, error: await response.json().catch(() => undefined) }));
}

/** Does a key of these scopes have this one? */
function isAllowed(scopes: readonly string[], wanted: string): boolean {
  const [resource] = wanted.split(':');
  return scopes.some((scope) => scope === '*' || scope === wanted || scope === `${resource}:write`);
}

/** Returns whether the key has a scope; while nobody knows yet, it has. */
export function useScope(wanted: string): boolean {
  const { data } = useOwnKey();
  return data === undefined || isAllowed(data.scopes, wanted);
}

/** Returns who is signed in. Undefined data: not known yet, or the key may not say. */
export function useMe() {
  return useQuery({
    queryKey: ['me'],
    staleTime: MINUTE_MS,
    queryFn: () =>
      unlessForbidden(answered(api.GET('/api/users/{user__uuid}/', { params: { path: { user__uuid: '@me' } } }))),
  });
}

export const projectAt = (id: string): At<Schemas['Project']> => ({
  queryKey: ['project', id],
  queryFn: () => versioned(api.GET('/api/projects/{project_id}/', { params: { path: { project_id: id } } })),
});

/** Returns a project, once it is asked for. */
export function useProject(id: string, enabled = true) {
  return useQuery({ ...projectAt(id), enabled, staleTime: MINUTE_MS, select: ({ value }) => value });
}
