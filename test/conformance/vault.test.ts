import { randomBytes } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  DecryptCommand,
  DisabledException,
  GenerateDataKeyCommand,
  InvalidCiphertextException,
  KMSClient,
} from '@aws-sdk/client-kms';
import { mockClient } from 'aws-sdk-client-mock';
import * as fc from 'fast-check';
import { Permanent, Transient } from '../../lib/ports/errors.ts';
import { decrypted, encrypted } from '../../lib/ports/vault/cipher.ts';
import { keyfileVault } from '../../lib/ports/vault/keyfile.ts';
import { kmsVault } from '../../lib/ports/vault/kms.ts';
import type { Vault } from '../../lib/ports/vault/vault.ts';
import { anyText } from '../support/any-text.ts';
import { temporaryFolder } from '../support/context.ts';
import { failFileCalls } from '../support/file-calls.ts';

const here = { organization: 'org', batchExport: 'export' };

/** What every vault promises. */
function vaultCases(open: () => Vault): void {
  test('opens what it sealed, whatever the text', async () => {
    const vault = open();
    await fc.assert(
      fc.asyncProperty(anyText(), async (plain) => {
        expect(await vault.open(await vault.seal(plain, here), here)).toBe(plain);
      }),
    );
  });

  test('shows neither the text nor that two texts are the same', async () => {
    const vault = open();
    const [one, two] = [await vault.seal('open sesame', here), await vault.seal('open sesame', here)];
    expect(one).not.toBe(two);
    expect(Buffer.from(one).includes('sesame')).toBe(false);
  });

  test.each([
    { organization: 'other', batchExport: 'export' },
    { organization: 'org', batchExport: 'other' },
    { organization: 'export', batchExport: 'org' },
    { organization: 'or', batchExport: 'gexport' },
    { organization: 'org","export', batchExport: '' },
  ])('opens it nowhere else: %j', async (elsewhere) => {
    const vault = open();
    await expect(vault.open(await vault.seal('x', here), elsewhere)).rejects.toThrow(Permanent);
  });

  test('opens nothing that was altered, cut or made up', async () => {
    const vault = open();
    const sealed = await vault.seal('a text of some length', here);
    const body = sealed.lastIndexOf('.') + 1;
    for (let at = 0; at < sealed.length; at += 1) {
      // The last letter of base64url holds bits that mean nothing.
      if (at === sealed.length - 1) break;
      const letter = sealed[at] === 'A' ? 'B' : 'A';
      const altered = sealed.slice(0, at) + letter + sealed.slice(at + 1);
      await expect(vault.open(altered, here)).rejects.toThrow(Permanent);
    }
    for (const wrong of [
      '',
      'x',
      'v1..',
      'v1.a.b.c',
      sealed.slice(0, body),
      sealed.slice(0, body + 30),
      `${sealed}.`,
    ]) {
      await expect(vault.open(wrong, here)).rejects.toThrow(Permanent);
    }
  });
}

describe('a key file vault', () => {
  vaultCases(() => keyfileVault(join(temporaryFolder(), 'folder', 'key')));

  test('makes the key file when it first seals, for its owner only, and leaves nothing beside it', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'key');
    const vault = keyfileVault(path);
    expect(readdirSync(folder)).toEqual([]);
    await vault.seal('x', here);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['key']);
  });

  test('leaves no file open whichever call of the file system fails, and seals when none does', async () => {
    for (let at = 1; ; at += 1) {
      const path = join(temporaryFolder(), 'key');
      const calls = await failFileCalls(at, { andLater: false });
      const isSealed = await keyfileVault(path)
        .seal('a', here)
        .then(
          () => true,
          () => false,
        );
      calls.stop();
      expect(calls.stillOpen()).toBe(0);
      if (calls.hasFailed()) continue;
      expect(isSealed).toBe(true);
      expect(readdirSync(dirname(path))).toEqual(['key']);
      return;
    }
  });

  test('opens with the same file after a restart, and in another process at once', async () => {
    const path = join(temporaryFolder(), 'key');
    const vaults = Array.from({ length: 8 }, () => keyfileVault(path));
    const sealed = await Promise.all(vaults.map((vault) => vault.seal('x', here)));
    const restarted = keyfileVault(path);
    for (const text of sealed) expect(await restarted.open(text, here)).toBe('x');
  });

  test('says that the key is gone, or another one, and makes none to open', async () => {
    const path = join(temporaryFolder(), 'key');
    const sealed = await keyfileVault(path).seal('x', here);
    const kept = readFileSync(path);
    rmSync(path);
    await expect(keyfileVault(path).open(sealed, here)).rejects.toThrow(Permanent);
    await expect(keyfileVault(path).open(sealed, here)).rejects.toThrow('cannot be read');
    const other = keyfileVault(path);
    await other.seal('y', here);
    await expect(other.open(sealed, here)).rejects.toThrow('another key');
    chmodSync(path, 0o600);
    writeFileSync(path, kept);
    expect(await keyfileVault(path).open(sealed, here)).toBe('x');
  });

  test('never overwrites a file that is no key file', async () => {
    const path = join(temporaryFolder(), 'key');
    writeFileSync(path, 'my diary');
    await expect(keyfileVault(path).seal('x', here)).rejects.toThrow('is not a key file');
    expect(readFileSync(path, 'utf8')).toBe('my diary');
  });
});

/** A KMS with one key, which seals data keys under it, bound to their encryption context as the real one does. */
function oneKeyKms() {
  const stageKey = randomBytes(32);
  const bound = (context: Record<string, string> | undefined) =>
    Buffer.from(JSON.stringify([context?.['organization'], context?.['export']]));
  const kms = mockClient(KMSClient);
  const opens = (blob: Uint8Array, context: Record<string, string> | undefined): Buffer => {
    try {
      return Buffer.from(decrypted(stageKey, blob, bound(context)), 'hex');
    } catch {
      throw new InvalidCiphertextException({ message: '', $metadata: {} });
    }
  };
  kms.on(GenerateDataKeyCommand).callsFake(({ EncryptionContext }) => {
    const Plaintext = randomBytes(32);
    return { Plaintext, CiphertextBlob: encrypted(stageKey, Plaintext.toString('hex'), bound(EncryptionContext)) };
  });
  kms
    .on(DecryptCommand)
    .callsFake(({ CiphertextBlob, EncryptionContext }) => ({ Plaintext: opens(CiphertextBlob, EncryptionContext) }));
  return kms;
}

describe('a KMS vault', () => {
  const open = () => kmsVault({ client: new KMSClient({ region: 'us-east-1' }), keyId: 'key-of-the-stage' });
  let kms: ReturnType<typeof oneKeyKms>;
  beforeEach(() => {
    kms = oneKeyKms();
  });
  afterEach(() => kms.restore());

  vaultCases(open);

  test('names organization and export to KMS, and sends it no secret', async () => {
    const vault = open();
    const plain = 'p'.repeat(100_000);
    expect(await vault.open(await vault.seal(plain, here), here)).toBe(plain);
    const inputs = kms.calls().map((call) => call.args[0].input);
    const EncryptionContext = { organization: 'org', export: 'export' };
    const KeyId = 'key-of-the-stage';
    expect(inputs).toMatchObject([
      { KeyId, EncryptionContext },
      { KeyId, EncryptionContext },
    ]);
    expect(JSON.stringify(inputs)).not.toContain('ppp');
  });

  test('tells a key that cannot be used, which a person must mend, from a KMS that is busy', async () => {
    const vault = open();
    const sealed = await vault.seal('x', here);
    kms.on(DecryptCommand).rejects(new DisabledException({ message: 'the key is disabled', $metadata: {} }));
    await expect(vault.open(sealed, here)).rejects.toThrow(Permanent);
    const throttled = Object.assign(new Error('Rate exceeded'), { name: 'ThrottlingException', $metadata: {} });
    kms.on(DecryptCommand).rejects(throttled).on(GenerateDataKeyCommand).rejects(throttled);
    await expect(vault.open(sealed, here)).rejects.toThrow(Transient);
    await expect(vault.seal('x', here)).rejects.toThrow(Transient);
  });
});
