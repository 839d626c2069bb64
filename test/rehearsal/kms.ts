/** KMS with one key, as far as the service asks it: data keys that open only under their encryption context. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** An error as KMS answers it. */
class KmsError extends Error {
  override readonly name: string;
  constructor(name: string) {
    super(name);
    this.name = name;
  }
}

interface Asked {
  readonly KeyId?: string;
  readonly KeySpec?: string;
  readonly CiphertextBlob?: string;
  readonly EncryptionContext?: Readonly<Record<string, string>>;
}

const ALGORITHM = 'aes-256-gcm';

/** Answers `GenerateDataKey` and `Decrypt` for the key with this ARN; bytes are base64, as in KMS's own JSON. */
export function fakeKms(keyArn: string): (action: string, asked: Asked) => object {
  const master = randomBytes(32);

  const known = (keyId: string | undefined): void => {
    if (keyId !== keyArn && keyId !== keyArn.split('/')[1]) throw new KmsError('NotFoundException');
  };

  return (action, { KeyId, KeySpec, CiphertextBlob, EncryptionContext = {} }) => {
    const bound = Buffer.from(
      JSON.stringify(Object.entries(EncryptionContext).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    );
    if (action === 'GenerateDataKey') {
      known(KeyId);
      if (KeySpec !== 'AES_256') throw new KmsError('ValidationException');
      const [plain, nonce] = [randomBytes(32), randomBytes(12)];
      const cipher = createCipheriv(ALGORITHM, master, nonce).setAAD(bound);
      const sealed = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return { KeyId: keyArn, Plaintext: plain.toString('base64'), CiphertextBlob: sealed.toString('base64') };
    }
    if (action === 'Decrypt') {
      if (KeyId !== undefined) known(KeyId);
      const sealed = Buffer.from(CiphertextBlob ?? '', 'base64');
      try {
        const opening = createDecipheriv(ALGORITHM, master, sealed.subarray(0, 12)).setAAD(bound);
        opening.setAuthTag(sealed.subarray(-16));
        const plain = Buffer.concat([opening.update(sealed.subarray(12, -16)), opening.final()]);
        return { KeyId: keyArn, Plaintext: plain.toString('base64') };
      } catch {
        throw new KmsError('InvalidCiphertextException');
      }
    }
    throw new Error(`the rehearsal does not know kms:${action}`);
  };
}
