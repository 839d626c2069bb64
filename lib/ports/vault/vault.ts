import { Permanent } from '../errors.ts';

/** The owner of a sealed text, which opens for this owner only. */
export interface Belonging {
  readonly organization: string;
  readonly batchExport: string;
}

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
