import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { MouseEvent } from 'react';
import { useScope } from '../client/access.ts';

export interface ScopedButtonProps extends ButtonProps {
  /** What the key must be allowed for the action. */
  readonly scope: string;
  readonly type?: 'button' | 'submit';
  readonly onClick?: (event: MouseEvent) => void;
}

/** A button of an action. When the key lacks its scope, it does nothing and names the scope. */
export function ScopedButton({ scope, onClick, type = 'button', ...rest }: ScopedButtonProps) {
  const isAllowed = useScope(scope);
  if (isAllowed) return <Button type={type} onClick={onClick} {...rest} />;
  const reason = `Your key lacks the scope ${scope}`;
  return (
    <Tooltip label={reason} events={{ hover: true, focus: true, touch: true }}>
      <Button
        {...rest}
        type="button"
        data-disabled
        aria-disabled
        aria-description={reason}
        onClick={(event) => event.preventDefault()}
      />
    </Tooltip>
  );
}
