import { Permanent } from '../errors.ts';

/** The owner of a sealed text, which opens for this owner only. */
export type Belonging = { readonly organization: string } & (
  | { readonly batchExport: string }
  | { readonly alert: string }
  | { readonly subscription: string }
);

/** Returns what is authenticated with a sealed text: the version of its form, and its owner. */
export function boundTo(version: string, belonging: Belonging): Buffer {
  const { organization, ...owner } = belonging;
  // An export is told by its id alone, as it was before others sealed something.
  const parts = 'batchExport' in owner ? [owner.batchExport] : Object.entries(owner).flat();
  return Buffer.from(JSON.stringify([version, organization, ...parts]));
}

/** Why a text does not open: it was changed, or is another owner's. */
export const notOfThisOwner = (): Permanent =>
  new Permanent('The stored credentials were altered, or belong to another object. Enter them again.');

/** The port that seals secrets of destinations: KMS on AWS, a key file on one machine. */
export interface Vault {
  /** Seals a text. */
  seal(plain: string, belonging: Belonging): Promise<string>;
  /** Returns the text. Throws `Permanent` when it was sealed for another owner, altered, or with a key that is gone. */
  open(sealed: string, belonging: Belonging): Promise<string>;
}

/** The error for a text that another vault, or none, sealed. */
export const notOfThisForm = (): Permanent =>
  new Permanent('The stored credentials are not in a form that this version can open.');
