/**
 * The inbox on AWS: requests go through a delivery stream of Data Firehose, which writes what came within a minute into
 * one object of a bucket. A request that the stream does not take now, or that is too large for it, is an object of its
 * own in the same bucket. Either keeps it before `append` resolves. The stream may write a request twice; landing one
 * again adds nothing.
 */
import { type FirehoseClient, PutRecordCommand } from '@aws-sdk/client-firehose';
import { messageOf } from '../../basics/text.ts';
import { SECOND_MS } from '../../basics/units.ts';
import type { FileStore } from '../files/files.ts';
import type { Log } from '../log.ts';
import { frameOf, requestsIn } from './frame.ts';
import { type Inbox, InboxClosed, type Segment } from './inbox.ts';

interface FirehoseInboxOptions {
  readonly client: Pick<FirehoseClient, 'send'>;
  /** The delivery stream. */
  readonly stream: string;
  /** The bucket that the stream writes to. */
  readonly files: Pick<FileStore, 'list' | 'read' | 'write' | 'move' | 'removeFiles'>;
  readonly newId: () => string;
  readonly clock: () => number;
  readonly log: Pick<Log, 'warning'>;
}

/** A record has 1,000 KiB at most (AWS). */
const MAX_RECORD_BYTES = 1_024_000;

/** Where the stream writes, and where requests go past it. Both are landed. */
export const INBOX_FOLDERS = { stream: 'segments/', direct: 'direct/', damaged: 'damaged/' } as const;

/** The stream waits so long before it writes what has come, in seconds. The least that it can wait (AWS). */
export const STREAM_WAITS_SECONDS = 60;

/** What the stream took has been written after so long, or is late: it waits a minute, and writing has another. */
const STREAM_LATE_MS = 2 * STREAM_WAITS_SECONDS * SECOND_MS;

/**
 * Opens the inbox, which any number of functions have at once. Segments stand in the order in which they were written.
 * What went past the stream is a segment when what the stream took before it is in one: when the stream has written
 * since, or at the latest when it must have. So what a person was first does not land after what they became.
 */
export function firehoseInbox({ client, stream, files, newId, clock, log }: FirehoseInboxOptions): Inbox {
  let isClosed = false;

  /** Returns whether the stream has it. */
  const put = async (frame: Buffer): Promise<boolean> => {
    if (frame.length > MAX_RECORD_BYTES) return false;
    try {
      await client.send(new PutRecordCommand({ DeliveryStreamName: stream, Record: { Data: frame } }));
      return true;
    } catch (error) {
      log.warning('the delivery stream has not taken a request; it is kept beside it', { reason: messageOf(error) });
      return false;
    }
  };

  const segmentsIn = async (folder: string): Promise<Segment[]> => {
    const found: Segment[] = [];
    for await (const { path, size, writtenAt } of files.list(folder))
      found.push({ name: path, bytes: size, writtenAt });
    return found;
  };

  return {
    append: async (request) => {
      if (isClosed) throw new InboxClosed('The inbox is closed.');
      const frame = frameOf(request);
      if (!(await put(frame))) await files.write(`${INBOX_FOLDERS.direct}${newId()}`, frame);
    },
    segments: async () => {
      const direct = await segmentsIn(INBOX_FOLDERS.direct);
      const streamed = await segmentsIn(INBOX_FOLDERS.stream);
      const upTo = streamed.reduce((last, { writtenAt }) => Math.max(last, writtenAt), clock() - STREAM_LATE_MS);
      const settled = direct.filter(({ writtenAt }) => writtenAt <= upTo);
      return [...settled, ...streamed].toSorted((one, other) => one.writtenAt - other.writtenAt);
    },
    read: async (segment) => {
      const { requests, damaged, rest } = requestsIn((await files.read(segment)) ?? Buffer.alloc(0));
      return { requests, damaged: damaged + rest, unfinished: 0 };
    },
    remove: (segments) => files.removeFiles(segments),
    setAside: (segment) => files.move(segment, `${INBOX_FOLDERS.damaged}${segment.replaceAll('/', '-')}`),
    close: async () => {
      isClosed = true;
    },
  };
}
