import { ActionIcon, type ActionIconProps, CloseIcon } from '@mantine/core';

interface RemoveIconProps extends ActionIconProps {
  /** What is removed. */
  readonly what: string;
  readonly onClick: () => void;
}

/** A button that removes what it stands beside. */
export const RemoveIcon = ({ what, ...rest }: RemoveIconProps) => (
  <ActionIcon variant="default" aria-label={`Remove ${what}`} {...rest}>
    <CloseIcon size="1rem" />
  </ActionIcon>
);
