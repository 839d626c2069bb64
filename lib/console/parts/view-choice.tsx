import { Select, type SelectProps } from '@mantine/core';
import { useView } from './address.ts';

interface ViewChoiceProps extends Pick<SelectProps, 'label' | 'data' | 'placeholder' | 'maw'> {
  readonly name: string;
  /** What is chosen; undefined: nothing, and all is shown. */
  readonly value: string | undefined;
  /** What the button says with which nothing is chosen. */
  readonly all: string;
}

/** A choice that the address keeps by its name, of what a list shows. */
export function ViewChoice({ name, value, all, ...rest }: ViewChoiceProps) {
  const [, setView] = useView();
  return (
    <Select
      value={value ?? null}
      clearable
      clearButtonProps={{ 'aria-label': all }}
      onChange={(next) => setView({ [name]: next ?? undefined })}
      {...rest}
    />
  );
}
