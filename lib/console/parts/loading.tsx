import { Center, Loader, type MantineSize } from '@mantine/core';

/** Says that something is on its way. */
export function Loading({ size = 'md', label = 'Loading' }: { readonly size?: MantineSize; readonly label?: string }) {
  return (
    <Center inline role="status" aria-label={label}>
      <Loader size={size} aria-hidden />
    </Center>
  );
}
