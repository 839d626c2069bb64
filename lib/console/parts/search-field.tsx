import { TextInput, type TextInputProps } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';
import { useView } from './address.ts';

const TYPING_MS = 250;

/** A field whose text is kept in the address as `search`, once nobody types any more; the list begins anew. */
export function SearchField(props: Pick<TextInputProps, 'description' | 'maw'>) {
  const [{ search = '' }, setView] = useView();
  const [typed, setTyped] = useState(search);
  const settle = useDebouncedCallback((text: string) => setView({ search: text, page: undefined }), TYPING_MS);
  return (
    <TextInput
      label="Search"
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        settle(event.currentTarget.value);
      }}
      {...props}
    />
  );
}
