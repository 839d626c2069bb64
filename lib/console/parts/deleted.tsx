import { Switch } from '@mantine/core';
import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { ActButton } from './act-button.tsx';
import { useView } from './address.ts';
import { tell } from './problem.tsx';

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
  const act = async (): Promise<void> => {
    try {
      await restore();
      tell(`${name} is back.`);
    } finally {
      for (const queryKey of lists) await queries.invalidateQueries({ queryKey });
    }
  };
  return (
    <ActButton scope={scope} act={act}>
      Restore
    </ActButton>
  );
}
