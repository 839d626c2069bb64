import { createTransport } from 'nodemailer';
import { SECOND_MS } from '../../basics/units.ts';
import { Permanent, Transient } from '../errors.ts';
import { ID_HEADER, type Mail } from './mail.ts';

interface SmtpOptions {
  /** `smtp://user:password@mail.example.com:587`, or `smtps:` for TLS from the beginning. */
  readonly url: string;
  readonly from: string;
}

/** How long a server may take to accept a connection, to greet, and to be silent. */
const CONNECT_TIMEOUT_MS = 10 * SECOND_MS;
const IDLE_TIMEOUT_MS = 20 * SECOND_MS;

/** Returns mail over a server that speaks SMTP, which is encrypted where the server offers it. */
export function smtpMail({ url, from }: SmtpOptions): Mail {
  const transport = createTransport({
    url,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: IDLE_TIMEOUT_MS,
    // A letter is texts and bytes: nothing in it is read from files or addresses.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.slice(from.lastIndexOf('@') + 1).replace(/>$/, '');
  return {
    send: async ({ id, to, subject, text, html, pictures }) => {
      const attachments = pictures.map(({ name, bytes }) => ({
        cid: name,
        filename: name,
        content: bytes,
        contentType: 'image/png',
        contentDisposition: 'inline' as const,
      }));
      const parts = { from, to, subject, text, html, attachments };
      const letter = { ...parts, messageId: `<${id}@${domain}>`, headers: { [ID_HEADER]: id } };
      try {
        await transport.sendMail(letter);
      } catch (error) {
        throw refusalOf(error);
      }
    },
  };
}

/** Returns why a letter was not taken. What the server says may name its users, so its number is told alone. */
function refusalOf(error: unknown): Permanent | Transient {
  const { code = '', responseCode } = error as { code?: string; responseCode?: number };
  const cause = { cause: error };
  if (code === 'EAUTH') return new Transient('The mail server does not accept the credentials of the service.', cause);
  if (responseCode === undefined)
    return new Transient(`The mail server cannot be reached (${code || 'unknown'}).`, cause);
  const sentence = `The mail server answered ${responseCode}.`;
  return responseCode >= 500 ? new Permanent(sentence, cause) : new Transient(sentence, cause);
}
