import { useSubmission } from './form.ts';
import { tell, tellProblem } from './problem.tsx';
import { useRenew } from './renew.ts';
import { ScopedButton, type ScopedButtonProps } from './scoped-button.tsx';

interface ActButtonProps extends Omit<ScopedButtonProps, 'type' | 'onClick' | 'loading'> {
  readonly act: () => Promise<unknown>;
  /** What is told when it is done. */
  readonly done?: string;
  /** What is read again then, also where it was refused: it may be otherwise than it was shown. */
  readonly renews?: readonly string[];
}

/** A button that acts at once, but never twice at a time, and tells for a while why it was refused. */
export function ActButton({ act, done, renews = [], ...rest }: ActButtonProps) {
  const renew = useRenew();
  const { isBusy, attempt } = useSubmission();
  const press = async (): Promise<void> => {
    try {
      await act();
      if (done !== undefined) tell(done);
    } catch (problem) {
      tellProblem(problem);
    }
    await renew(...renews);
  };
  return (
    <ScopedButton variant="default" size="compact-xs" loading={isBusy} onClick={() => void attempt(press)} {...rest} />
  );
}
