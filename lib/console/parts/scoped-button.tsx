import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { MouseEvent } from 'react';
import { useProject, useScope } from '../client/access.ts';
import { OWNER } from '../client/organization.ts';
import { useParam } from './address.ts';

/** What somebody must be allowed for an action. */
export interface Needed {
  /** What the key must be allowed. */
  readonly scope: string;
  /** From which level on members of the project’s organization may; absent: all may. */
  readonly level?: number;
  /** What is missing besides, in a sentence. */
  readonly lacks?: string;
}

export interface ScopedButtonProps extends ButtonProps, Needed {
  readonly type?: 'button' | 'submit';
  readonly onClick?: (event: MouseEvent) => void;
}

/** Returns what somebody lacks, in a sentence; undefined: nothing, as far as is known. */
function useLack({ scope, level, lacks }: Needed): string | undefined {
  const hasScope = useScope(scope);
  const project = useParam('project');
  const { data } = useProject(project, level !== undefined && project !== '');
  if (!hasScope) return `Your key lacks the scope ${scope}`;
  if (level === undefined || data === undefined || data.effective_membership_level >= level) return lacks;
  return `Only ${level >= OWNER ? 'owners' : 'admins and owners'} of the organization may do it`;
}

/** A button of an action. When the key lacks its scope, its user the level, or it anything else, it does nothing and says what is missing. */
export function ScopedButton({ scope, level, lacks, onClick, type = 'button', ...rest }: ScopedButtonProps) {
  const reason = useLack({ scope, level, lacks });
  if (reason === undefined) return <Button type={type} onClick={onClick} {...rest} />;
  // What sends a form is still that: Enter in a field presses it, and is stopped by it.
  return (
    <Tooltip label={reason} events={{ hover: true, focus: true, touch: true }}>
      <Button
        {...rest}
        type={type}
        data-disabled
        aria-disabled
        aria-description={reason}
        onClick={(event) => event.preventDefault()}
      />
    </Tooltip>
  );
}
