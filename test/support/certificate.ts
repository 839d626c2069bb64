/** Certificates, in DER by hand: Node signs, but writes none. */
import { generateKeyPairSync, sign } from 'node:crypto';

/** PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Returns a value in DER: its tag, its length, and its bytes or the values in it. */
function der(tag: number, ...inner: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(inner.map((one) => (typeof one === 'string' ? Buffer.from(one) : one)));
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...inner: readonly Buffer[]): Buffer => der(0x30, ...inner);
const octets = (inner: Buffer): Buffer => der(0x04, inner);
const bits = (inner: Buffer): Buffer => der(0x03, Buffer.from([0]), inner);
/** Returns an object identifier, from the bytes that stand for it. */
const identifier = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

/** 1.2.840.10045.4.3.2 */
const ECDSA_WITH_SHA256 = identifier('2a8648ce3d040302');
/** 2.5.4.3 */
const COMMON_NAME = identifier('550403');
/** 2.5.29.17 */
const SUBJECT_ALTERNATIVE_NAMES = identifier('551d11');

/**
 * Returns a certificate (X.509, version 3) that nobody but itself signed, for this machine and the hosts of acme.com,
 * until 2049.
 */
export function selfSigned(): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, 'localhost'))));
  const hosts = [der(0x82, 'localhost'), der(0x82, '*.acme.com'), der(0x87, Buffer.from([127, 0, 0, 1]))];
  const extension = sequence(SUBJECT_ALTERNATIVE_NAMES, octets(sequence(...hosts)));
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    sequence(ECDSA_WITH_SHA256),
    name,
    sequence(der(0x17, '200101000000Z'), der(0x17, '491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const whole = sequence(signed, sequence(ECDSA_WITH_SHA256), bits(sign('sha256', signed, privateKey)));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}
