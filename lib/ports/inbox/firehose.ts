/**
 * The inbox on AWS: requests go through a delivery stream of Data Firehose, which writes what came within a minute into
 * one object of a bucket. A request that the stream does not take now, or that is too large for it, is an object of its
 * own in the same bucket. Either keeps it before `append` resolves. The stream may write a request twice; landing one
 * again adds nothing.
 */
import { type FirehoseClient, PutRecordCommand } from '@aws-sdk/client-firehose';
import { messageOf } from '../errors.ts';
import type { FileStore } from '../files/files.ts';
import type { Log } from '../log.ts';
import { frameOf, requestsIn } from './frame.ts';
import { type CapturedRequest, type Inbox, InboxClosed, type Segment, type SegmentContent } from './inbox.ts';

interface FirehoseInboxOptions {
  readonly client: Pick<FirehoseClient, 'send'>;
  /** The delivery stream. */
  readonly stream: string;
  /** The bucket that the stream writes to. */
  readonly files: Pick<FileStore, 'list' | 'read' | 'write' | 'move' | 'removeFiles'>;
  readonly newId: () => string;
  readonly log: Pick<Log, 'warning'>;
}

/** A record has 1,000 KiB at most (AWS). */
const MAX_RECORD_BYTES = 1_024_000;

/** Where the stream writes, and where requests go past it. Both are landed. */
export const INBOX_FOLDERS = { stream: 'segments/', direct: 'direct/', damaged: 'damaged/' } as const;

/** Opens the inbox, which any number of functions have at once. Segments stand in the order of their names. */
export function firehoseInbox({ client, stream, files, newId, log }: FirehoseInboxOptions): Inbox {
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

  return {
    append: async (request: CapturedRequest): Promise<void> => {
      if (isClosed) throw new InboxClosed('The inbox is closed.');
      const frame = frameOf(request);
      if (!(await put(frame))) await files.write(`${INBOX_FOLDERS.direct}${newId()}`, frame);
    },
    segments: async (): Promise<Segment[]> => {
      const found: Segment[] = [];
      for (const folder of [INBOX_FOLDERS.direct, INBOX_FOLDERS.stream])
        for await (const { path, size } of files.list(folder)) found.push({ name: path, bytes: size });
      return found;
    },
    read: async (segment: string): Promise<SegmentContent> => {
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
