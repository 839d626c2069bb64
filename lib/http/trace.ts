/** W3C Trace Context (https://www.w3.org/TR/trace-context/): which trace a piece of work belongs to, whoever began it. */
import { hash } from 'node:crypto';

interface Trace {
  /** 32 hexadecimal digits, in every line of the log. */
  readonly id: string;
  /** The header `traceparent` that names this piece of work to whoever it calls, and to its caller. */
  readonly parent: string;
}

const PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(?:$|-)/;

/**
 * Returns the trace of a piece of work: the one that its caller names in `traceparent`, or else one of its own, which
 * follows from its id, so that the same work is in the same trace when it is repeated.
 */
export function traceOf(workId: string, traceparent?: string): Trace {
  const digits = hash('sha256', workId, 'hex');
  const [, id = digits.slice(0, 32), flags = '00'] = PARENT.exec(traceparent ?? '') ?? [];
  return { id, parent: `00-${id}-${digits.slice(32, 48)}-${flags}` };
}
