import { SESv2Client } from '@aws-sdk/client-sesv2';
import { sesMail } from '../../../../lib/ports/mail/ses.ts';
import { settings } from '../environment.ts';

export const mail = () => {
  const { mailFrom } = settings();
  return mailFrom === null ? null : sesMail({ client: new SESv2Client(), from: mailFrom });
};
