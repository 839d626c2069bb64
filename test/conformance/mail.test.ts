/** What every port to mail promises: over a real server that speaks SMTP, and over SES. */
import { MessageRejected, SESv2Client, SendEmailCommand, TooManyRequestsException } from '@aws-sdk/client-sesv2';
import { mockClient } from 'aws-sdk-client-mock';
import { SMTPServer } from 'smtp-server';
import { Permanent, Transient } from '../../lib/ports/errors.ts';
import type { Letter, Mail } from '../../lib/ports/mail/mail.ts';
import { sesMail } from '../../lib/ports/mail/ses.ts';
import { smtpMail } from '../../lib/ports/mail/smtp.ts';

const FROM = 'Analytics <analytics@example.com>';
const LETTER: Letter = {
  id: '1-019b796d',
  to: 'ada@example.com',
  subject: 'Alert: bcc\r\nBcc: evil@example.com',
  text: 'plain text',
  html: '<p>markup</p>',
  pictures: [{ name: 'chart-1.png', bytes: Buffer.from('a picture of ten') }],
};

interface Carrier {
  readonly mail: Mail;
  /** What was taken, as text that has addresses, headers and both forms. */
  readonly taken: () => string[];
  /** The next letter is refused, for good or for now. */
  readonly refuse: (isForGood: boolean) => void;
  readonly close: () => Promise<void>;
}

function mailCases(open: () => Promise<Carrier>): void {
  let carrier: Carrier;
  beforeEach(async () => {
    carrier = await open();
  });
  afterEach(() => carrier.close());

  test('hands over a letter in both forms, with its id, to its one address', async () => {
    await carrier.mail.send(LETTER);
    const [letter = '', ...more] = carrier.taken();
    expect(more).toEqual([]);
    const parts = ['ada@example.com', 'analytics@example.com', 'plain text', '<p>markup</p>', 'image/png'];
    for (const part of [...parts, 'YSBwaWN0dXJlIG9mIHRlbg==']) {
      expect(letter).toContain(part);
    }
    // What markup shows by `cid:` is named so, and is a part of the letter instead of a file beside it.
    expect(letter).toMatch(/Content-?Id[^\n]*chart-1\.png/i);
    expect(letter).toMatch(/inline/i);
    expect(letter).toMatch(/X-Notification-ID[^\n]*1-019b796d/i);
    expect(letter).not.toMatch(/^bcc: evil/im);
  });

  test('tells a refusal for good from one that may pass', async () => {
    carrier.refuse(true);
    await expect(carrier.mail.send(LETTER)).rejects.toThrow(Permanent);
    carrier.refuse(false);
    await expect(carrier.mail.send(LETTER)).rejects.toThrow(Transient);
    await carrier.mail.send(LETTER);
    expect(carrier.taken()).toHaveLength(1);
  });
}

async function smtp(): Promise<Carrier> {
  const taken: string[] = [];
  let refusal: number | undefined;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const pieces: Buffer[] = [];
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('end', () => {
        const code = refusal;
        refusal = undefined;
        if (code !== undefined) {
          done(Object.assign(new Error('no'), { responseCode: code }));
          return;
        }
        const to = session.envelope.rcptTo.map(({ address }) => address).join();
        taken.push(`${to}\n${Buffer.concat(pieces).toString()}`);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as { port: number };
  return {
    mail: smtpMail({ url: `smtp://127.0.0.1:${port}`, from: FROM }),
    taken: () => taken,
    refuse: (isForGood) => {
      refusal = isForGood ? 550 : 451;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Writes bytes as the call does. */
const inBase64 = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value
    ? Buffer.from(value.data as number[]).toString('base64')
    : value;

async function ses(): Promise<Carrier> {
  const mock = mockClient(SESv2Client);
  const about = { message: 'no', $metadata: {} };
  const taken: string[] = [];
  let refusal: Error | undefined;
  mock.on(SendEmailCommand).callsFake(async (input: object) => {
    const error = refusal;
    refusal = undefined;
    if (error !== undefined) throw error;
    // A subject is one field of the call, and no header can come out of it.
    taken.push(JSON.stringify(input, inBase64));
    return {};
  });
  return {
    mail: sesMail({ client: new SESv2Client({ region: 'eu-central-1' }), from: FROM }),
    taken: () => taken,
    refuse: (isForGood) => {
      refusal = isForGood ? new MessageRejected(about) : new TooManyRequestsException(about);
    },
    close: async () => mock.restore(),
  };
}

describe('over SMTP', () => {
  mailCases(smtp);

  test('a server that is not there may come back', async () => {
    const mail = smtpMail({ url: 'smtp://me:secret@127.0.0.1:1', from: FROM });
    const error = await mail.send(LETTER).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Transient);
    expect((error as Error).message).toBe('The mail server cannot be reached (ESOCKET).');
  });
});

describe('over SES', () => {
  mailCases(ses);
});
