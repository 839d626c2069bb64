import { Anchor, type AnchorProps } from '@mantine/core';
import type { ReactNode } from 'react';

interface TextButtonProps extends Pick<AnchorProps, 'style'> {
  readonly onClick: () => void;
  readonly children: ReactNode;
}

/** A button that looks like a link. */
export function TextButton(props: TextButtonProps) {
  return <Anchor component="button" type="button" size="sm" ta="start" underline="always" {...props} />;
}
