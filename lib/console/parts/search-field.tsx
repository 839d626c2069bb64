import { TextInput, type TextInputProps } from '@mantine/core';
import { useTypedView } from './address.ts';

/** A field whose text is kept in the address as `search`. */
export function SearchField(props: Pick<TextInputProps, 'description'>) {
  const field = useTypedView(['search']);
  return <TextInput label="Search" maw={420} {...field('search')} {...props} />;
}
