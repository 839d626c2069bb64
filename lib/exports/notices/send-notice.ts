/**
 * Notices tell people of failures that they do not look for: a run that failed for good, a backfill that did, a batch
 * export that was paused because of it. A notice is a job, written in the transaction of the failure; it is sent to the
 * webhook of the export, and announced as an event where there is a bus, at least once and always with the same id.
 */

import { DAY_MS } from '../../basics/units.ts';
import { wireInstant } from '../../http/instant.ts';
import { beginJob } from '../../jobs/begin.ts';
import { aboutOf, jobOps } from '../../jobs/job.ts';
import { knownFailure } from '../../jobs/known-failure.ts';
import type { Context } from '../../ports/context.ts';
import { Transient } from '../../ports/errors.ts';
import { toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import { postWebhook } from '../../webhooks/webhook.ts';
import type { NoticeInput } from '../../workflow/messages.ts';
import { type LogLine, lineOps } from '../records/logs.ts';
import { type BatchExportItem, belongingOf } from '../records/model.ts';
import type { Notice } from './notice.ts';

/** For how long a notice is tried to be sent. */
const MAX_AGE_MS = DAY_MS;

/**
 * Sends a notice, unless it has been sent. A webhook that does not take it is tried again, with the backoff of jobs,
 * for a day; the export's log tells of each try. While one execution sends it another does not.
 */
export async function sendNotice(
  context: Context,
  { notice: id, attempt }: NoticeInput,
  signal: AbortSignal,
): Promise<void> {
  const { table, clock, events } = context;
  const begun = await beginJob(context, { kind: 'notice', id, attempt }, 'send-notice');
  if (begun === undefined) return;
  const { job } = begun;
  const notice = aboutOf('notice', job) as Notice & { readonly announced?: true };
  const item = await table.get(keys.batchExport(notice.export));
  const isWanted = item !== undefined && item.deleted_at === null;
  if (isWanted && events !== null && notice.announced === undefined) {
    const { type, data } = message(item, id, notice);
    await events.publish(type, data);
    const about = toJsonText({ ...notice, announced: true });
    await table.write([{ change: keys.job('notice', id), set: { about }, if: { is: { about: job.about } } }]);
  }
  const done = jobOps('notice', id, null);
  if (!isWanted || item.notify_url === undefined || item.notify_url === null) {
    await table.write(done);
    return;
  }
  const webhook = { url: item.notify_url, secret: item.notify_secret };
  const body = JSON.stringify(message(item, id, notice));
  const until = notice.at + MAX_AGE_MS;
  const posted = () => postWebhook(context, webhook, belongingOf(item), { id, body, signal });
  const failure = await knownFailure(context, posted, { until, signal });
  const isOver = !(failure instanceof Transient) || clock() >= until;
  const line = lineOf(notice, failure, isOver, clock());
  await table.write([...(isOver ? done : []), ...lineOps(context, item.id, id, 'notice', [line])]);
  if (!isOver) await begun.comeBack();
}

/** Returns the body of a webhook, and what an event holds. `text` is for people: chat services show it as it is. */
function message({ id: batch_export, name, team_id }: BatchExportItem, id: string, notice: Notice) {
  const { type, subject, range, reason, at } = notice;
  const between = range === null ? '' : ` for ${wireInstant(range.start)} - ${wireInstant(range.end)}`;
  const what = {
    run_failed: `A run of batch export '${name}'${between} failed: ${reason}`,
    backfill_failed: `A backfill of batch export '${name}'${between} failed: ${reason}`,
    paused: `Batch export '${name}' was paused: ${reason}`,
  }[type];
  return {
    type: `batch_export.${type}`,
    timestamp: wireInstant(at),
    text: what,
    data: {
      id,
      batch_export,
      name,
      team_id,
      run: type === 'run_failed' ? subject : null,
      backfill: type === 'backfill_failed' ? subject : null,
      data_interval_start: range === null ? null : wireInstant(range.start),
      data_interval_end: range === null ? null : wireInstant(range.end),
      reason,
    },
  };
}

const SUBJECTS = { run_failed: 'run', backfill_failed: 'backfill', paused: 'batch export' } as const;

function lineOf({ type, subject }: Notice, failure: Error | undefined, isOver: boolean, at: number): LogLine {
  const what = `Failure notification for ${SUBJECTS[type]} '${subject}'`;
  if (failure === undefined) return { at, level: 'INFO', message: `${what} has been sent`, instance: subject };
  const next = isOver ? 'It is not tried again: check notify_url.' : 'It will be tried again.';
  return { at, level: 'WARNING', message: `${what} could not be sent: ${failure.message} ${next}`, instance: subject };
}
