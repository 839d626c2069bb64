import type { Credentials } from '../http/request.ts';

/**
 * Credentials as an authorizer's context: API Gateway carries text there, no lists. Neither scopes nor ids hold a
 * blank.
 */
export type CredentialsText = { readonly [Name in keyof Credentials]: string };

export function toContext(credentials: Credentials): CredentialsText {
  const { userId, keyId, keyMask, scopes, scopedTeams, scopedOrganizations } = credentials;
  return {
    userId,
    keyId,
    keyMask,
    scopes: scopes.join(' '),
    scopedTeams: scopedTeams.join(' '),
    scopedOrganizations: scopedOrganizations.join(' '),
  };
}

const words = (list: string): string[] => (list === '' ? [] : list.split(' '));

export function fromContext(text: CredentialsText): Credentials {
  return {
    userId: text.userId,
    keyId: text.keyId,
    keyMask: text.keyMask,
    scopes: words(text.scopes),
    scopedTeams: words(text.scopedTeams).map(Number),
    scopedOrganizations: words(text.scopedOrganizations),
  };
}
