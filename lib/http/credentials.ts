/** The facts about a key that the authorizer found; they travel as text in the request context. */
export interface Credentials {
  readonly userId: string;
  readonly keyId: string;
  /** The SHA-256 of its value, under which it is stored until it is rolled: the id stays, and so tells no value from the next. */
  readonly keyHash: string;
  readonly keyMask: string;
  readonly scopes: readonly string[];
  /** Empty: no limit. */
  readonly scopedTeams: readonly number[];
  /** Empty: no limit. */
  readonly scopedOrganizations: readonly string[];
  /** The key is void from then on, milliseconds since 1970, whoever still remembers it; null: never. */
  readonly expiresAt: number | null;
}

/**
 * Credentials as an authorizer's context, where API Gateway carries text and no lists: blanks stand between the items
 * of a list, for neither scopes nor ids hold one.
 */
export type CredentialsText = { readonly [Name in keyof Credentials]: string };

/** Returns credentials as an authorizer's context. */
export function toContext(credentials: Credentials): CredentialsText {
  const { userId, keyId, keyHash, keyMask, scopes, scopedTeams, scopedOrganizations, expiresAt } = credentials;
  return {
    userId,
    keyId,
    keyHash,
    keyMask,
    scopes: scopes.join(' '),
    scopedTeams: scopedTeams.join(' '),
    scopedOrganizations: scopedOrganizations.join(' '),
    expiresAt: String(expiresAt ?? ''),
  };
}

const words = (list: string): string[] => (list === '' ? [] : list.split(' '));

/** Returns the credentials in an authorizer's context. */
export function fromContext(text: CredentialsText): Credentials {
  return {
    userId: text.userId,
    keyId: text.keyId,
    keyHash: text.keyHash,
    keyMask: text.keyMask,
    scopes: words(text.scopes),
    scopedTeams: words(text.scopedTeams).map(Number),
    scopedOrganizations: words(text.scopedOrganizations),
    expiresAt: text.expiresAt === '' ? null : Number(text.expiresAt),
  };
}
