import { FirehoseClient } from '@aws-sdk/client-firehose';
import { SECOND_MS } from '../../../../lib/basics/units.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { firehoseInbox } from '../../../../lib/ports/inbox/firehose.ts';
import { variable } from '../environment.ts';
import { filesIn } from '../files.ts';
import { answersWithin } from '../timeouts.ts';

/** What does not answer within this is kept past the stream. */
const FIREHOSE_TIMEOUT_MS = 3 * SECOND_MS;

export const inbox = ({ newId, clock, log }: Pick<Context, 'newId' | 'clock' | 'log'>) =>
  firehoseInbox({
    client: new FirehoseClient({
      maxAttempts: 2,
      requestHandler: answersWithin(FIREHOSE_TIMEOUT_MS),
    }),
    stream: variable('INBOX_STREAM'),
    files: filesIn(variable('INBOX_BUCKET')),
    newId,
    clock,
    log,
  });
