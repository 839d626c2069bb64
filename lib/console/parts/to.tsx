import { Anchor, Button, type ButtonProps } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

interface ToProps {
  /** A path of the console. */
  readonly to: string;
  /** What the page's address keeps of its view. */
  readonly view?: Readonly<Record<string, string>>;
  readonly children: ReactNode;
}

/* Addresses of pages are texts here, so the router cannot tell which view belongs to which. */

/** A link to another page of the console. */
export function To({ to, view = {}, children }: ToProps) {
  return (
    <Anchor component={Link} to={to} search={view as never} size="sm" underline="always">
      {children}
    </Anchor>
  );
}

/** The same, as a button. */
export function ToButton({ to, view = {}, children, ...rest }: ToProps & ButtonProps) {
  return (
    <Button component={Link} to={to} search={view as never} {...rest}>
      {children}
    </Button>
  );
}
