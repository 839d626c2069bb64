import { SESv2Client } from '@aws-sdk/client-sesv2';
import { SECOND_MS } from '../../../../lib/basics/units.ts';
import { sesMail } from '../../../../lib/ports/mail/ses.ts';
import { settings } from '../environment.ts';
import { answersWithin } from '../timeouts.ts';

/** Long, for a letter that SES took without saying so is sent again; three attempts fit into the step. */
const SES_TIMEOUT_MS = 10 * SECOND_MS;

export const mail = () => {
  const { mailFrom } = settings();
  if (mailFrom === null) return null;
  return sesMail({ client: new SESv2Client({ requestHandler: answersWithin(SES_TIMEOUT_MS) }), from: mailFrom });
};
