/** How much a request may hold, and why nothing of it can be read. */
import { bytesText } from '../basics/text.ts';
import { MIB } from '../basics/units.ts';

export interface DecodeLimits {
  /** Bytes of a request without its wrapping. */
  readonly bytes: number;
  /** Values and names in it: each may take 150 bytes and a microsecond. */
  readonly values: number;
}

/** Five times what the largest request has as it is sent. SDKs send up to 13 MB, our own HTTP destination up to 50. */
export const DECODE_LIMITS: DecodeLimits = { bytes: 100 * MIB, values: 2_500_000 };

/** Why nothing of a request can be read. */
export class Undecodable extends Error {
  override readonly name = 'Undecodable';
  readonly reason: 'empty' | 'undecodable' | 'too_large' | 'unsupported_encoding';

  /** `message` is a sentence for the sender. */
  constructor(reason: Undecodable['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Returns what tells the sender that a request holds too much. */
export const tooLarge = ({ bytes, values }: DecodeLimits): Undecodable =>
  new Undecodable(
    'too_large',
    `The request holds more than ${bytesText(bytes)} or ${values.toLocaleString('en')} values when it is decoded.`,
  );
