import { Switch } from '@mantine/core';
import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useView } from './address.ts';
import { useSubmission } from './form.ts';
import { tell, tellProblem } from './problem.tsx';
import { ScopedButton } from './scoped-button.tsx';

/** Whether a list shows what was deleted instead; the address keeps it as `deleted`. */
export function DeletedSwitch() {
  const [{ deleted }, setView] = useView();
  return (
    <Switch
      label="Deleted"
      checked={deleted === 'true'}
      onChange={(event) => setView({ deleted: event.currentTarget.checked ? 'true' : undefined, page: undefined })}
      mb={8}
    />
  );
}

interface RestoreButtonProps {
  readonly scope: string;
  readonly name: string;
  readonly restore: () => Promise<unknown>;
  /** What is to be read again. */
  readonly lists: readonly QueryKey[];
}

/** Brings back what was deleted. */
export function RestoreButton({ scope, name, restore, lists }: RestoreButtonProps) {
  const queries = useQueryClient();
  const { isBusy, attempt } = useSubmission();
  const act = async (): Promise<void> => {
    await restore().then(() => tell(`${name} is back.`), tellProblem);
    for (const queryKey of lists) await queries.invalidateQueries({ queryKey });
  };
  return (
    <ScopedButton scope={scope} variant="default" size="compact-xs" loading={isBusy} onClick={() => void attempt(act)}>
      Restore
    </ScopedButton>
  );
}
