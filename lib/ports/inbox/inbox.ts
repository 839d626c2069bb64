/**
 * The port to what was captured and is not in the lake yet: requests as they came, kept from the moment they are
 * acknowledged until their events are in the lake.
 */

/** A request that was accepted, with all that its events are made of later. */
export interface CapturedRequest {
  /** Which request it is: no other has the same. */
  readonly id: string;
  readonly projectId: number;
  /** When it came, milliseconds since 1970. */
  readonly receivedAt: number;
  /** What of its address its events are made of, beside the body. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Headers that say something of its events; undefined: none do. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The address of the sender; null: nobody knows, or it shall not be kept. */
  readonly address: string | null;
  readonly body: Uint8Array;
}

/** Requests that lie together and are landed together; nothing is added to them any more. */
export interface Segment {
  readonly name: string;
  readonly bytes: number;
  /** When the last of it was written, milliseconds since 1970. */
  readonly writtenAt: number;
}

/** What a segment holds. */
export interface SegmentContent {
  readonly requests: readonly CapturedRequest[];
  /** Bytes that were acknowledged and are no request any more: the disk has damaged them. */
  readonly damaged: number;
  /** Bytes at its end of a write that was cut short: nobody was told that these are kept. */
  readonly unfinished: number;
}

export interface Inbox {
  /** Keeps a request. Resolves when it would survive a power cut; when it rejects, it may or may not have been kept. */
  append(request: CapturedRequest): Promise<void>;
  /**
   * Lists the segments, oldest first. What was appended before the call is in one of them; on AWS it may take minutes to
   * come there.
   */
  segments(): Promise<Segment[]>;
  /** Reads a segment; one that is gone has nothing. Throws `SegmentUnreadable` where others may be read though this one cannot. */
  read(segment: string): Promise<SegmentContent>;
  /** Forgets segments that are in the lake; fine when one is gone. */
  remove(segments: readonly string[]): Promise<void>;
  /** Puts a damaged segment where nobody lands it, for a person to look at. */
  setAside(segment: string): Promise<void>;
  /** Sees appends through, and takes no more. */
  close(): Promise<void>;
}

/** A segment cannot be read, for a reason that is its own, such as an error of the disk where it lies, and that may pass. */
export class SegmentUnreadable extends Error {
  override readonly name = 'SegmentUnreadable';
}

/** The inbox is closed: the program is about to end. */
export class InboxClosed extends Error {
  override readonly name = 'InboxClosed';
}
