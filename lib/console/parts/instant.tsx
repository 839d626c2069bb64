import { Text, type TextProps } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { DAY_MS } from '../../basics/units.ts';
import { fromNow } from '../client/local-time.ts';

/** What is further away is told as a date: nobody counts back so many days. */
const WORDS_MS = 28 * DAY_MS;

const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
const CLOCK = { dateStyle: 'medium', timeStyle: 'long' } as const;
const clock = new Intl.DateTimeFormat('en-GB', CLOCK);
const utcClock = new Intl.DateTimeFormat('en-GB', { ...CLOCK, timeZone: 'UTC' });

const isFar = (at: string): boolean => Math.abs(Date.parse(at) - Date.now()) >= WORDS_MS;

/** Returns an instant as people say it: `3 minutes ago`, `17 May 2015`. */
const said = (at: string): string => (isFar(at) ? localDate(at) : fromNow(Date.parse(at), Date.now()));

/** Returns the day by the clock of the reader. */
const localDate = (at: string): string => date.format(new Date(at));

const SPAN = {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
} as const;
const span = new Intl.DateTimeFormat('en-GB', SPAN);
const utcSpan = new Intl.DateTimeFormat('en-GB', { ...SPAN, timeZone: 'UTC' });

/** Returns a time from an instant to another by the clock of the reader, which it names: `17 May 2015, 10:00–11:00 UTC`. */
function localRange(from: string, to: string): string {
  const [start, end] = [new Date(from), new Date(to)];
  // The clocks change in between: one zone for both ends would be wrong about one of them.
  if (start.getTimezoneOffset() !== end.getTimezoneOffset()) return `${span.format(start)} – ${span.format(end)}`;
  return span.formatRange(start, end);
}

/** Returns a time from an instant to another by UTC, as exports count: `17 May 2015, 10:00–11:00 UTC`. */
export const utcRange = (from: string, to: string): string => utcSpan.formatRange(new Date(from), new Date(to));

/** Returns a time from an instant to another by UTC, and by the clock of the reader where that is another one. */
export function bothRanges(from: string, to: string): string {
  const [utc, own] = [utcRange(from, to), localRange(from, to)];
  return own === utc ? utc : `${utc} (${own})`;
}

/** Shows a time by UTC, and by the clock of the reader when pointed at. */
export function UtcRange({ from, to }: { readonly from: string; readonly to: string }) {
  return (
    <Text span size="sm" title={localRange(from, to)}>
      {utcRange(from, to)}
    </Text>
  );
}

/** Returns the instant by UTC: `17 May 2015, 10:00:00 UTC`. */
export const utcTime = (at: string): string => utcClock.format(new Date(at));

/** Returns the instant by the clock of the reader, which it names: `17 May 2015, 10:00:00 UTC`. */
export const localTime = (at: string): string => clock.format(new Date(at));

interface InstantProps extends TextProps {
  /** ISO 8601. */
  readonly at: string | null | undefined;
  /** What stands there when there is none. */
  readonly none?: string;
  /** It says exactly when, too: not everybody can point at it. */
  readonly isExact?: boolean;
}

const TICK_MS = 10_000;

function everyTick(look: () => void): () => void {
  const timer = setInterval(look, TICK_MS);
  return () => clearInterval(timer);
}

/** An instant in words that stay true as long as somebody looks at them. */
function Said({ at }: { readonly at: string }) {
  return useSyncExternalStore(everyTick, () => said(at));
}

/** Shows an instant as people say it, and exactly when pointed at. */
export function Instant({ at, none = 'never', isExact = false, ...rest }: InstantProps) {
  if (at === null || at === undefined) {
    return (
      <Text span size="sm" c="dimmed" {...rest}>
        {none}
      </Text>
    );
  }
  return (
    <Text span size="sm" {...rest}>
      <time dateTime={at} title={`${localTime(at)} (${at})`}>
        {isExact && isFar(at) ? localTime(at) : <Said at={at} />}
      </time>
      {isExact && !isFar(at) && `, ${localTime(at)}`}
    </Text>
  );
}
