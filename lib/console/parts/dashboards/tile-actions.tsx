import { Checkbox } from '@mantine/core';
import { duplicateTile, moveTile, showTile, type Tile } from '../../client/dashboards.ts';
import { ActButton } from '../act-button.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { tell } from '../problem.tsx';
import { useRenew } from '../renew.ts';
import { DashboardChoice } from './dashboard-choice.tsx';
import type { OfBoard } from './of-board.ts';

interface TileActionsProps extends OfBoard {
  readonly tile: Tile;
  /** What the tile is called. */
  readonly name: string;
}

/** Copies a tile, and brings it to another dashboard. */
export function TileActions({ project, id, tile, name, beside }: TileActionsProps) {
  const renew = useRenew();
  const changed = (act: () => Promise<unknown>): Promise<unknown> =>
    beside(act).then(() => renew('dashboard', 'dashboards', 'insights', 'insight'));
  return (
    <>
      <ActButton
        scope="dashboard:write"
        act={() => changed(() => duplicateTile(project, id, tile.id))}
        aria-label={`Copy ${name}`}
      >
        Copy
      </ActButton>
      <FormDialog
        label="Move to"
        aria-label={`Move to another dashboard: ${name}`}
        scope="dashboard:write"
        size="compact-xs"
        initial={{ to_dashboard: '', stays: false }}
        does="Move"
        isReady={({ to_dashboard: to }) => to !== ''}
        submit={async ({ to_dashboard: to, stays }) => {
          await changed(() =>
            stays ? showTile(project, tile, Number(to)) : moveTile(project, id, tile.id, Number(to)),
          );
          tell(stays ? 'The other dashboard shows it too.' : 'The other dashboard has it.');
        }}
      >
        {(form) => (
          <>
            <DashboardChoice project={project} without={id} {...form.choice('to_dashboard')} />
            <Checkbox
              label="Leave it here too"
              description={
                tile.insight === null
                  ? 'The other dashboard gets a text of its own.'
                  : 'Both dashboards then show the same insight.'
              }
              {...form.tick('stays')}
            />
          </>
        )}
      </FormDialog>
    </>
  );
}
