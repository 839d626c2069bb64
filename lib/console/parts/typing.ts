import { useDebouncedValue } from '@mantine/hooks';

/** Whoever pauses for so long has written what they look for. */
export const TYPING_MS = 250;

/** Returns what is in a field once nobody types any more. */
export const useSettled = <Value>(typed: Value): Value => useDebouncedValue(typed, TYPING_MS)[0];
