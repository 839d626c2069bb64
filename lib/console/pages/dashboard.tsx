import { Group, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Refusal, type Schemas, type Versioned } from '../client/api.ts';
import {
  type Dashboard as Board,
  dashboardKey,
  readDashboard,
  restoreDashboard,
  useDashboard,
  writeDashboard,
} from '../client/dashboards.ts';
import { changedOf } from '../client/json.ts';
import type { Place } from '../client/layout.ts';
import { useParam } from '../parts/address.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { ConflictNotice, type Disputed } from '../parts/conflict-notice.tsx';
import { Access } from '../parts/dashboards/access.tsx';
import { BoardDates, useChosenRange } from '../parts/dashboards/board-dates.tsx';
import { useChosenFilters } from '../parts/dashboards/board-filters.tsx';
import { Collaborators } from '../parts/dashboards/collaborators.tsx';
import { Duplicate } from '../parts/dashboards/duplicate.tsx';
import { Sharing } from '../parts/dashboards/sharing.tsx';
import { EditText, NewText } from '../parts/dashboards/text-tile.tsx';
import { TileActions } from '../parts/dashboards/tile-actions.tsx';
import { TileGrid } from '../parts/dashboards/tile-grid.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Label } from '../parts/label.tsx';
import { Empty } from '../parts/listing.tsx';
import { Loading } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { Problem, tellProblem, tellUndoable } from '../parts/problem.tsx';
import { ScopedButton } from '../parts/scoped-button.tsx';
import { ToButton } from '../parts/to.tsx';

type Change = Schemas['DashboardsUpdateRequest'];

/** A change that somebody else was faster than. */
interface Conflict {
  readonly change: Change;
  readonly mine: Board;
  readonly theirs: Versioned<Board>;
}

/** Returns the dashboard as a change makes it, but for its tiles, which the answer brings. */
function withChange(value: Board, { tiles: _tiles, ...change }: Change): Board {
  return { ...value, ...(change as Partial<Board>) };
}

const versionOf = (value: Board, field: keyof Board): unknown =>
  field === 'tiles' ? `${value.tiles.length} tiles` : value[field];

const textOf = ({ tiles }: Board, id: number): string => tiles.find((tile) => tile.id === id)?.text?.body ?? 'nothing';

/** Returns the fields of a change in both versions: of tiles the texts that were written, else how many there are. */
function disputedOf({ change, mine, theirs: { value: theirs } }: Conflict): Disputed[] {
  const written = (change.tiles ?? []).flatMap(({ id, text }) => (id === undefined || text == null ? [] : [id]));
  const texts = written.map((id) => ({ field: 'text', theirs: textOf(theirs, id), mine: textOf(mine, id) }));
  if (texts.length > 0) return texts;
  const fields = Object.keys(change) as (keyof Change & keyof Board)[];
  return fields.map((field) => ({ field, theirs: versionOf(theirs, field), mine: versionOf(mine, field) }));
}

export default function DashboardPage() {
  const project = useParam('project');
  const id = useParam('id');
  const { data, error, refetch } = useDashboard(project, id);
  if (data !== undefined) return <DashboardView project={project} id={id} data={data} />;
  return (
    <Page title="Dashboard">
      {error === null ? <Loading /> : <Problem error={error} retry={() => void refetch()} />}
    </Page>
  );
}

interface DashboardViewProps {
  readonly project: string;
  readonly id: string;
  readonly data: Versioned<Board>;
}

function DashboardView({ project, id, data }: DashboardViewProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isEditing, { toggle }] = useDisclosure(false);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const key = dashboardKey(project, id);
  const { value } = data;
  const board = {
    project,
    id: value.id,
    filters: value.filters,
    range: useChosenRange(),
    properties: useChosenFilters(),
  };

  /** Shows a change at once, writes it over the newest version that is known or `over`, and takes it back when it is refused. */
  async function write(
    change: Change,
    shown: Board = withChange(value, change),
    over?: Versioned<Board>,
  ): Promise<void> {
    const newest = queries.getQueryData<Versioned<Board>>(key) ?? data;
    queries.setQueryData(key, { ...newest, value: shown });
    try {
      queries.setQueryData(key, await writeDashboard(project, over ?? newest, change));
      await queries.invalidateQueries({ queryKey: ['dashboards', project] });
    } catch (problem) {
      queries.setQueryData(key, newest);
      if (!(problem instanceof Refusal && problem.status === 412)) throw problem;
      setConflict({ change, mine: shown, theirs: await readDashboard(project, id) });
    }
  }
  const attempt = (...wanted: Parameters<typeof write>): void => void write(...wanted).catch(tellProblem);

  const place = (places: ReadonlyMap<number, Place>): void => {
    const tiles = value.tiles.map((tile) => ({ ...tile, layouts: { ...tile.layouts, sm: places.get(tile.id) } }));
    attempt({ tiles: tiles.map(({ id: tile, layouts }) => ({ id: tile, layouts })) }, { ...value, tiles });
  };
  const removeTile = (tile: number): void =>
    attempt(
      { tiles: [{ id: tile, deleted: true }] },
      { ...value, tiles: value.tiles.filter((one) => one.id !== tile) },
    );
  const rewrite = (id: number, body: string, seen: Versioned<Board>): Promise<void> => {
    const tiles = value.tiles.map((tile) =>
      tile.id === id && tile.text !== null ? { ...tile, text: { ...tile.text, body } } : tile,
    );
    return write({ tiles: [{ id, text: { body } }] }, { ...value, tiles }, seen);
  };
  const remove = async (): Promise<void> => {
    await write({ deleted: true });
    tellUndoable(`${value.name || 'The dashboard'} is deleted.`, async () => {
      await restoreDashboard(project, value.id);
      for (const list of ['dashboard', 'dashboards']) await queries.invalidateQueries({ queryKey: [list, project] });
    });
    void navigate({ to: `/projects/${project}/dashboards` });
  };

  return (
    <Page
      title={value.name === '' ? 'Untitled' : value.name}
      actions={
        <>
          <ScopedButton
            scope="dashboard:write"
            variant="default"
            size="xs"
            onClick={() => attempt({ pinned: !value.pinned })}
          >
            {value.pinned ? 'Unpin' : 'Pin'}
          </ScopedButton>
          <Rename data={data} write={(change, seen) => write(change, withChange(value, change), seen)} />
          <Sharing project={project} id={value.id} />
          <Access project={project} id={value.id} />
          <Collaborators project={project} value={value} write={write} />
          <ToButton to={`/projects/${project}/subscriptions`} view={{ dashboard: id }} variant="default" size="xs">
            Subscriptions
          </ToButton>
          <Duplicate project={project} value={value} />
          <NewText add={(body) => write({ tiles: [{ text: { body } }] })} />
          <ScopedButton scope="dashboard:write" variant={isEditing ? 'filled' : 'default'} size="xs" onClick={toggle}>
            {isEditing ? 'Done' : 'Edit layout'}
          </ScopedButton>
          <ConfirmButton label="Delete" scope="dashboard:write" act={remove}>
            The dashboard goes from all lists; its insights stay. The list of deleted ones can bring it back.
          </ConfirmButton>
        </>
      }
    >
      <Stack>
        {value.description !== '' && <Text style={{ overflowWrap: 'anywhere' }}>{value.description}</Text>}
        {value.tags.length > 0 && (
          <Group gap={4}>
            {value.tags.map((tag) => (
              <Label key={tag}>{tag}</Label>
            ))}
          </Group>
        )}
        {value.tiles.some(({ insight }) => insight !== null) && (
          // Not shown before it is written: what the charts say is of the dates that are kept.
          <BoardDates board={board} tiles={value.tiles} write={(change) => write(change, value)} />
        )}
        {value.tiles.length === 0 ? (
          <Empty>
            <Text>Nothing on it yet. “Add text” writes a note; insights are put on it from their page.</Text>
          </Empty>
        ) : (
          <TileGrid
            board={board}
            tiles={value.tiles}
            isEditing={isEditing}
            place={place}
            remove={removeTile}
            actions={(tile) => (
              <>
                {tile.text !== null && (
                  <EditText body={tile.text.body} seen={data} write={(body, seen) => rewrite(tile.id, body, seen)} />
                )}
                <TileActions project={project} dashboard={value.id} tile={tile} />
              </>
            )}
          />
        )}
      </Stack>
      {conflict !== null && (
        <ConflictNotice
          what="the dashboard"
          disputed={disputedOf(conflict)}
          keep={() => {
            queries.setQueryData(key, conflict.theirs);
            setConflict(null);
          }}
          replace={() => {
            queries.setQueryData(key, conflict.theirs);
            setConflict(null);
            attempt(conflict.change, withChange(conflict.theirs.value, conflict.change));
          }}
        />
      )}
    </Page>
  );
}

interface RenameProps {
  readonly data: Versioned<Board>;
  readonly write: (change: Change, seen: Versioned<Board>) => Promise<void>;
}

function Rename({ data, write }: RenameProps) {
  const [seen, setSeen] = useState(data);
  return (
    <FormDialog
      label="Rename"
      scope="dashboard:write"
      initial={namesOf(data.value)}
      opened={() => setSeen(data)}
      does="Save"
      submit={(values) => {
        const { tags, ...rest } = changedOf(values, namesOf(seen.value));
        const named = tags?.split(',').map((tag) => tag.trim());
        return write({ ...rest, ...(named && { tags: named.filter((tag) => tag !== '') }) }, seen);
      }}
    >
      {(form) => (
        <>
          <TextInput label="Name" data-autofocus {...form.text('name')} />
          <TextInput label="Description" {...form.text('description')} />
          <TextInput label="Tags" description="With commas between them" {...form.text('tags')} />
        </>
      )}
    </FormDialog>
  );
}

const namesOf = ({ name, description, tags }: Board) => ({ name, description, tags: tags.join(', ') });
