/** A mail to one address. */
export interface Letter {
  /** The same each time it is sent: of letters, digits and `-`. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** What `html` shows, by `cid:` and the name. */
  readonly pictures: readonly LetterPicture[];
}

interface LetterPicture {
  /** Of letters, digits, `-` and `.`: a part of one letter. */
  readonly name: string;
  /** A PNG. */
  readonly bytes: Buffer;
}

/** The port to who carries mail: a server that speaks SMTP on one machine, SES on AWS. */
export interface Mail {
  /** Hands a letter over. Throws `Transient` when it may be tried again, and `Permanent` when it is refused for good. */
  send(letter: Letter): Promise<void>;
}

/** The header by which a receiver knows a letter that comes twice. */
export const ID_HEADER = 'X-Notification-ID';
