import { Text } from '@mantine/core';
import { ActButton } from './act-button.tsx';
import { To } from './to.tsx';

interface RowNameProps {
  readonly deleted: boolean;
  /** The page of what is not deleted. */
  readonly to: string;
  readonly children: string;
}

/** What a row of a list is called, which leads to its page unless it is deleted. */
export const RowName = ({ deleted, to, children }: RowNameProps) =>
  deleted ? <Text size="sm">{children}</Text> : <To to={to}>{children}</To>;

/** Returns the column that brings rows back, of a list of deleted ones; of another one none. */
export const restoreColumn = <T,>(isOfDeleted: boolean, of: (row: T) => RestoreButtonProps) =>
  isOfDeleted ? [{ name: 'Action', cell: (row: T) => <RestoreButton {...of(row)} /> }] : [];

interface RestoreButtonProps {
  readonly scope: string;
  readonly name: string;
  readonly restore: () => Promise<unknown>;
  /** What is to be read again. */
  readonly lists: readonly string[];
}

/** Brings back what was deleted. */
function RestoreButton({ scope, name, restore, lists }: RestoreButtonProps) {
  return (
    <ActButton scope={scope} act={restore} done={`${name} is back.`} renews={lists}>
      Restore
    </ActButton>
  );
}
