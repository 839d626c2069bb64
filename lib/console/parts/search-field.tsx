import { TextInput, type TextInputProps } from '@mantine/core';
import { useTypedView } from './address.ts';

/** A field whose text is kept in the address as `search`. */
export function SearchField(props: Pick<TextInputProps, 'description' | 'maw'>) {
  const { typed, type } = useTypedView(['search']);
  return (
    <TextInput
      label="Search"
      value={typed['search'] ?? ''}
      onChange={(event) => type('search', event.currentTarget.value)}
      {...props}
    />
  );
}
