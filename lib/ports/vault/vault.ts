import { Permanent } from '../errors.ts';

/** What a sealed text belongs to. It opens only in the same place. */
export interface Belonging {
  readonly organization: string;
  readonly batchExport: string;
}

/** The port that seals secrets of destinations: KMS on AWS, a key file on one machine. */
export interface Vault {
  seal(plain: string, belonging: Belonging): Promise<string>;
  /** Throws `Permanent` when the text was sealed elsewhere, altered, or with a key that is gone. */
  open(sealed: string, belonging: Belonging): Promise<string>;
}

/** What a vault says to a text that another vault, or nobody, sealed. */
export const notOfThisForm = (): Permanent =>
  new Permanent('The stored credentials are not in a form that this version can open.');
