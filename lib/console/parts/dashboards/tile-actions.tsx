import { Checkbox, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  ALL_DASHBOARDS,
  duplicateTile,
  moveTile,
  showTile,
  type Tile,
  useDashboards,
} from '../../client/dashboards.ts';
import { ActButton } from '../act-button.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { tell } from '../problem.tsx';

const TYPING_MS = 250;

interface TileActionsProps {
  readonly project: string;
  /** The dashboard that shows the tile. */
  readonly dashboard: number;
  readonly tile: Tile;
}

/** Copies a tile, and brings it to another dashboard. */
export function TileActions({ project, dashboard, tile }: TileActionsProps) {
  const queries = useQueryClient();
  const renew = async (): Promise<void> => {
    for (const list of ['dashboard', 'dashboards', 'insights', 'insight'])
      await queries.invalidateQueries({ queryKey: [list, project] });
  };
  const copy = (): Promise<void> => duplicateTile(project, dashboard, tile.id).then(renew);
  return (
    <>
      <ActButton scope="dashboard:write" act={copy}>
        Copy
      </ActButton>
      <FormDialog
        label="Move to"
        scope="dashboard:write"
        size="compact-xs"
        initial={{ to_dashboard: '', stays: false }}
        does="Move"
        isReady={({ to_dashboard: to }) => to !== ''}
        submit={async ({ to_dashboard: to, stays }) => {
          await (stays ? showTile(project, tile, Number(to)) : moveTile(project, dashboard, tile.id, Number(to)));
          await renew();
          tell(stays ? 'The other dashboard shows it too.' : 'The other dashboard has it.');
        }}
      >
        {(form) => (
          <>
            <DashboardChoice project={project} without={dashboard} {...form.choice('to_dashboard')} />
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

interface DashboardChoiceProps {
  readonly project: string;
  /** The one that is not offered. */
  readonly without: number;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string | null) => void;
}

/** Chooses a dashboard of the project by a part of its name. */
function DashboardChoice({ project, without, ...rest }: DashboardChoiceProps) {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed, TYPING_MS);
  const { data } = useDashboards(project, 1, { ...ALL_DASHBOARDS, search });
  const others = (data?.results ?? []).filter(({ id }) => id !== without);
  return (
    <Select
      label="Dashboard"
      required
      searchable
      data-autofocus
      data={others.map(({ id, name }) => ({ value: String(id), label: name === '' ? 'Untitled' : name }))}
      // What the service finds is what fits.
      filter={({ options }) => options}
      onSearchChange={setTyped}
      nothingFoundMessage="No other dashboard is like that."
      {...rest}
    />
  );
}
