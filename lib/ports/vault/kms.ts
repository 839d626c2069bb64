/**
 * The vault on AWS. Each text has a data key of its own, which KMS makes and keeps sealed under the stage's key. A
 * sealed text is `kms1.<base64url of: length of the sealed data key (2 bytes), that data key, the text under it>`. The
 * owner of the text is its encryption context: KMS opens the data key for nobody else, and its audit log names the
 * export of every secret that was opened.
 */
import {
  DecryptCommand,
  DisabledException,
  GenerateDataKeyCommand,
  IncorrectKeyException,
  InvalidCiphertextException,
  type KMSClient,
  KMSInvalidStateException,
  NotFoundException,
} from '@aws-sdk/client-kms';
import { messageOf } from '../../basics/text.ts';
import { orTransient } from '../aws-failures.ts';
import { Permanent } from '../errors.ts';
import { decrypted, encrypted } from './cipher.ts';
import { type Belonging, boundTo, notOfThisForm, notOfThisOwner, type Vault } from './vault.ts';

const VERSION = 'kms1';
const LENGTH_BYTES = 2;

interface KmsOptions {
  readonly client: KMSClient;
  /** Id or ARN of the stage's key. */
  readonly keyId: string;
}

/** Returns a vault under a key of KMS. One call seals a text of any length, and one opens it. */
export function kmsVault({ client, keyId: KeyId }: KmsOptions): Vault {
  return {
    seal: async (plain, belonging) => {
      const command = new GenerateDataKeyCommand({
        KeyId,
        KeySpec: 'AES_256',
        EncryptionContext: contextOf(belonging),
      });
      const { Plaintext, CiphertextBlob } = await orTransient('KMS', client.send(command));
      if (Plaintext === undefined || CiphertextBlob === undefined) throw new Error('KMS made no data key');
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt16BE(CiphertextBlob.length);
      const all = Buffer.concat([length, CiphertextBlob, encrypted(Plaintext, plain, boundTo(VERSION, belonging))]);
      Plaintext.fill(0);
      return `${VERSION}.${all.toString('base64url')}`;
    },

    open: async (sealed, belonging) => {
      const [version, body = '', ...more] = sealed.split('.');
      const all = Buffer.from(body, 'base64url');
      if (version !== VERSION || more.length > 0 || all.length <= LENGTH_BYTES) throw notOfThisForm();
      const end = LENGTH_BYTES + all.readUInt16BE();
      if (all.length <= end) throw notOfThisForm();
      const CiphertextBlob = all.subarray(LENGTH_BYTES, end);
      const command = new DecryptCommand({ KeyId, CiphertextBlob, EncryptionContext: contextOf(belonging) });
      const { Plaintext } = await orTransient('KMS', client.send(command)).catch((error: unknown) => {
        throw explained(error);
      });
      if (Plaintext === undefined) throw new Error('KMS opened no data key');
      const plain = decrypted(Plaintext, all.subarray(end), boundTo(VERSION, belonging));
      Plaintext.fill(0);
      return plain;
    },
  };
}

/** Not secret: it stands in the audit log. */
const contextOf = (belonging: Belonging): Record<string, string> => {
  const { organization, ...owner } = belonging;
  return 'batchExport' in owner ? { organization, export: owner.batchExport } : { organization, ...owner };
};

function explained(error: unknown): unknown {
  if (error instanceof InvalidCiphertextException || error instanceof IncorrectKeyException) {
    return notOfThisOwner();
  }
  const isGone = [NotFoundException, DisabledException, KMSInvalidStateException].some((kind) => error instanceof kind);
  return isGone ? new Permanent(`The key of the stored credentials cannot be used: ${messageOf(error)}`) : error;
}
