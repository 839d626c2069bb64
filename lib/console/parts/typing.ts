import type { OptionsFilter } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';

/** Whoever pauses for so long has written what they look for. */
export const TYPING_MS = 250;

/** Returns what is in a field once nobody types any more. */
export const useSettled = <Value>(typed: Value): Value => useDebouncedValue(typed, TYPING_MS)[0];

/** What the service finds is what fits. */
const unfiltered: OptionsFilter = ({ options }) => options;

/** Returns what somebody looks for in a field whose options the service finds, and what the field takes to type it. */
export function useSearch() {
  const [typed, setTyped] = useState('');
  return { search: useSettled(typed), field: { searchable: true, filter: unfiltered, onSearchChange: setTyped } };
}
