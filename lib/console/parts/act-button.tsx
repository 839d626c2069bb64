import { useSubmission } from './form.ts';
import { tellProblem } from './problem.tsx';
import { ScopedButton, type ScopedButtonProps } from './scoped-button.tsx';

interface ActButtonProps extends Omit<ScopedButtonProps, 'type' | 'onClick' | 'loading'> {
  readonly act: () => Promise<unknown>;
}

/** A button that acts at once, but never twice at a time, and tells for a while why it was refused. */
export function ActButton({ act, ...rest }: ActButtonProps) {
  const { isBusy, attempt } = useSubmission();
  return (
    <ScopedButton
      variant="default"
      size="compact-xs"
      loading={isBusy}
      onClick={() => void attempt(() => act().catch(tellProblem))}
      {...rest}
    />
  );
}
