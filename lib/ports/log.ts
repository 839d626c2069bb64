import { plain } from '../basics/plain.ts';

export type Level = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';
type LogFields = Readonly<Record<string, unknown>>;

/** The service's own log, not the log of an export, which customers read. It is never given a secret. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a log that adds these fields to every line. */
  with(fields: LogFields): Log;
}

/** Writes one line. `at` is in milliseconds since 1970. */
export type LogSink = (line: { level: Level; at: number; message: string; fields: LogFields }) => void;

const ORDER: Record<Level, number> = { DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3 };

/** Returns a log over a sink; lines below `threshold` are dropped. */
export function logTo(sink: LogSink, clock: () => number, threshold: Level = 'INFO', fields: LogFields = {}): Log {
  const at =
    (level: Level) =>
    (message: string, more: LogFields = {}): void => {
      if (ORDER[level] >= ORDER[threshold]) sink({ level, at: clock(), message, fields: { ...fields, ...more } });
    };
  return {
    debug: at('DEBUG'),
    info: at('INFO'),
    warning: at('WARNING'),
    error: at('ERROR'),
    with: (more) => logTo(sink, clock, threshold, { ...fields, ...more }),
  };
}

/** What the lines of all processes of the service have in `service`. */
const SERVICE = 'workspaces';

/**
 * Returns a sink that writes one JSON object a line, for CloudWatch and log shippers, with the fields that Powertools for
 * AWS Lambda gives a line: https://docs.aws.amazon.com/powertools/typescript/latest/features/logger/. An `Error` is an
 * object of its name, message and stack.
 */
export const jsonLines =
  (write: (text: string) => void): LogSink =>
  ({ level, at, message, fields }) => {
    const line = { level, message, timestamp: new Date(at).toISOString(), service: SERVICE, ...fields };
    // Most lines hold texts and numbers alone, which JSON is made of in half the time without a function that looks.
    const hasObject = Object.values(fields).some((value) => typeof value === 'object' && value !== null);
    write(`${JSON.stringify(line, hasObject ? withErrors : undefined)}\n`);
  };

const withErrors = (_: string, value: unknown): unknown => (value instanceof Error ? errorFields(value) : value);

const errorFields = ({ name, message, stack }: Error) => ({ name, message, stack });

/** Returns a sink that writes short lines for a person at a terminal: texts may be what a stranger has sent. */
export const shortLines =
  (write: (text: string) => void): LogSink =>
  ({ level, at, message, fields }) => {
    const time = new Date(at).toISOString().slice(11, 19);
    const mark = level === 'INFO' ? ' ' : level.slice(0, 1);
    const rest = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${textOf(value)}`)
      .join(' ');
    write(`${time} ${mark} ${plain(message)}${rest === '' ? '' : `  ${rest}`}\n`);
  };

function textOf(value: unknown): string {
  if (value instanceof Error) return (value.stack ?? value.message).split(STACK).map(plain).join(STACK);
  return plain(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Between the lines of an error's stack. */
const STACK = '\n    at ';

export function isLevel(text: string): text is Level {
  return Object.hasOwn(ORDER, text);
}
