import { findKey, noteUse, sha256 } from '../accounts/personal-api-keys/lookup.ts';
import { messageOf } from '../basics/text.ts';
import type { Credentials } from '../http/credentials.ts';
import type { Route } from '../http/route.ts';
import { isPermitted } from '../http/scopes.ts';
import type { Context } from '../ports/context.ts';
import { fromJsonText } from '../ports/table/json-text.ts';

/**
 * Returns the scope that a method of a path template needs; undefined: the path does not have the method. Whoever
 * starts the authorizer hands it in, so that authorizing reaches no resource but keys.
 */
export type ScopeLookup = (method: string, template: string) => Route['scope'] | undefined;

/** A request as the gateway matched it, without the path's parameters. */
interface AuthorizationRequest {
  /** The header as sent. */
  readonly authorization: string | undefined;
  readonly method: string;
  /** The path template. */
  readonly template: string;
}

type Decision =
  | { readonly kind: 'allow'; readonly credentials: Credentials }
  /** There is no key, or it is malformed, unknown, expired or revoked: nobody can tell which. */
  | { readonly kind: 'unauthorized' }
  /** The key is good and lacks the scope of the operation. */
  | { readonly kind: 'deny'; readonly keyId: string; readonly detail: string };

/**
 * `Bearer`, blanks, then the value: at least two characters; blanks around all are left out. The word is case-sensitive.
 * A blank is a space or a tab and nothing else: the firewall counts by this header, in which it takes these for one.
 */
const BEARER = /^[ \t]*Bearer[ \t]+(\S.*[^ \t])[ \t]*$/;

/**
 * Decides whether the key in the header may call what the gateway matched. A method that the path does not have is
 * open to any good key: it will be answered 405. One read; once an hour per key a write that notes the use.
 */
export async function authorize(
  { table, clock, log }: Pick<Context, 'table' | 'clock' | 'log'>,
  scopeFor: ScopeLookup,
  { authorization, method, template }: AuthorizationRequest,
): Promise<Decision> {
  const value = BEARER.exec(authorization ?? '')?.[1];
  if (value === undefined) return { kind: 'unauthorized' };
  const now = clock();
  const keyHash = sha256(value);
  const key = await findKey(table, keyHash);
  if (key === undefined || (key.expires_at !== null && key.expires_at <= now)) return { kind: 'unauthorized' };

  try {
    await noteUse(table, key, now);
  } catch (error) {
    log.warning('the use of a key was not noted', { key: key.id, error: messageOf(error) });
  }

  const scopes = fromJsonText(key.scopes);
  const required = scopeFor(method, template) ?? 'any';
  if (required !== 'any' && required !== 'public' && !isPermitted(scopes, required)) {
    return { kind: 'deny', keyId: key.id, detail: `API key missing required scope '${required}'` };
  }
  return {
    kind: 'allow',
    credentials: {
      userId: key.user_uuid,
      keyId: key.id,
      keyHash,
      keyMask: key.mask,
      scopes,
      scopedTeams: fromJsonText(key.scoped_teams),
      scopedOrganizations: fromJsonText(key.scoped_organizations),
      expiresAt: key.expires_at,
    },
  };
}
