import {
  BadRequestException,
  MailFromDomainNotVerifiedException,
  MessageRejected,
  type SESv2Client,
  SendEmailCommand,
} from '@aws-sdk/client-sesv2';
import { orTransient } from '../aws-failures.ts';
import { Permanent, Transient } from '../errors.ts';
import { ID_HEADER, type Mail } from './mail.ts';

interface SesOptions {
  readonly client: SESv2Client;
  /** An address that SES knows to be the account's own. */
  readonly from: string;
}

const inUtf8 = (Data: string) => ({ Data, Charset: 'UTF-8' });

/** Returns mail over SES. */
export function sesMail({ client, from }: SesOptions): Mail {
  return {
    send: async ({ id, to, subject, text, html, pictures }) => {
      const command = new SendEmailCommand({
        FromEmailAddress: from,
        Destination: { ToAddresses: [to] },
        Content: {
          Simple: {
            Subject: inUtf8(subject),
            Body: { Text: inUtf8(text), Html: inUtf8(html) },
            Headers: [{ Name: ID_HEADER, Value: id }],
            Attachments: pictures.map(({ name, bytes }) => ({
              RawContent: bytes,
              FileName: name,
              ContentId: name,
              ContentType: 'image/png',
              ContentDisposition: 'INLINE',
            })),
          },
        },
      });
      await orTransient('SES', client.send(command)).catch((error: unknown) => {
        if (error instanceof Transient || !(error instanceof Error)) throw error;
        const isForGood = REFUSALS.some((kind) => error instanceof kind);
        throw new (isForGood ? Permanent : Transient)(`SES did not take the mail (${error.name}).`, { cause: error });
      });
    },
  };
}

const REFUSALS = [MessageRejected, BadRequestException, MailFromDomainNotVerifiedException];
