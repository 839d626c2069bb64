import { Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy } from 'react';
import { counted } from '../../basics/text.ts';
import type { Place } from '../../charts/places.ts';
import type { Schemas, Versioned } from '../client/api.ts';
import {
  type Dashboard as Board,
  dashboardAt,
  editLack,
  restoreDashboard,
  type Tile,
  useDashboard,
  writeDashboard,
} from '../client/dashboards.ts';
import { useNavigateFromHere, useParam } from '../parts/address.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { type Disputed, disputedFields } from '../parts/conflict-notice.tsx';
import { AddInsight, newInsightOn } from '../parts/dashboards/add-insight.tsx';
import { BoardDates, useChosenRange } from '../parts/dashboards/board-dates.tsx';
import { useChosenFilters } from '../parts/dashboards/board-filters.tsx';
import { Collaborators } from '../parts/dashboards/collaborators.tsx';
import { Duplicate } from '../parts/dashboards/duplicate.tsx';
import { Sharing } from '../parts/dashboards/sharing.tsx';
import { EditText, NewText } from '../parts/dashboards/text-tile.tsx';
import { TileActions } from '../parts/dashboards/tile-actions.tsx';
import { TileGrid } from '../parts/dashboards/tile-grid.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Label } from '../parts/label.tsx';
import { Empty } from '../parts/listing.tsx';
import { LoadedLater } from '../parts/loaded-later.tsx';
import { Loading } from '../parts/loading.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { type AwaitedProps, tellProblem, tellUndoable } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';
import { type Needed, ScopedButton } from '../parts/scoped-button.tsx';
import { ToButton } from '../parts/to.tsx';
import { useVersionedWrite } from '../parts/versioned-write.tsx';

const AccessRules = lazy(() => import('../parts/dashboards/access-rules.tsx'));

type Change = Schemas['DashboardsUpdateRequest'];

/** Returns the dashboard as a change makes it, but for new tiles and for dates and filters, by which the answer counts anew. */
function withChange(value: Board, { tiles: changes = [], filters: _filters, ...change }: Change): Board {
  const tiles = value.tiles.flatMap((tile) => {
    const { deleted, layouts, text } = changes.find(({ id }) => id === tile.id) ?? {};
    if (deleted === true) return [];
    return [{ ...tile, layouts: layouts ?? tile.layouts, text: tile.text && { ...tile.text, ...text } }];
  });
  return { ...value, ...(change as Partial<Board>), tiles };
}

/** Returns how many tiles are on the dashboard once a change is made: an insight that is on it is not put there again. */
function countWith(value: Board, change: Change): number {
  const isThere = (id: unknown): boolean => value.tiles.some(({ insight }) => insight !== null && insight.id === id);
  const added = change.tiles?.filter(({ id, insight }) => id === undefined && !isThere(insight)) ?? [];
  return withChange(value, change).tiles.length + added.length;
}

/** Returns the fields of a change in both versions: of tiles the texts that were written, else how many there are. */
function disputedOf(change: Change, theirs: Board): readonly Disputed[] {
  const { tiles, ...fields } = change;
  const others = disputedFields<keyof typeof fields & keyof Board>(fields, theirs);
  if (tiles === undefined) return others;
  const texts = tiles.flatMap(({ id, text }) => {
    const kept = theirs.tiles.find((tile) => tile.id === id)?.text;
    return text == null ? [] : [{ field: 'text', theirs: kept?.body ?? 'nothing', mine: text.body }];
  });
  const [before, after] = [{}, change].map((one) => counted(countWith(theirs, one), 'tile'));
  const count = { field: 'tiles', theirs: String(before), mine: String(after) };
  return [...others, ...(texts.length > 0 ? texts : [count])];
}

export default function DashboardPage() {
  const project = useParam('project');
  const id = useParam('id');
  const asked = useDashboard(project, id);
  if (asked.data === undefined) return <AwaitedPage title="Dashboard" asked={asked} />;
  return <DashboardView project={project} id={id} asked={asked} data={asked.data} />;
}

interface DashboardViewProps extends AwaitedProps {
  readonly project: string;
  readonly id: string;
  readonly data: Versioned<Board>;
}

function DashboardView({ project, id, asked, data }: DashboardViewProps) {
  const renew = useRenew();
  const navigate = useNavigateFromHere();
  const [isEditing, { toggle, close: endEditing }] = useDisclosure(false);
  const { send, beside, underWay, notice } = useVersionedWrite<Change, Board>({
    what: 'the dashboard',
    at: dashboardAt(project, id),
    write: (change, over) => writeDashboard(project, over, change),
    written: async (version, { deleted }) => {
      await renew('dashboards');
      if (deleted === true) leave(version.value);
    },
    disputed: disputedOf,
  });
  const value = underWay.reduce(withChange, data.value);
  const board = {
    project,
    id: value.id,
    filters: value.filters,
    range: useChosenRange(),
    properties: useChosenFilters(),
  };

  const own = { project, id: value.id, beside };

  const lacks = editLack(value);
  if (isEditing && lacks !== undefined) endEditing();
  const write = (change: Change, seen = data): Promise<boolean> => send(change, seen);
  const attempt = (change: Change): void => void write(change).catch(tellProblem);
  const place = (places: ReadonlyMap<number, Place>): void =>
    attempt({
      tiles: value.tiles.map((tile) => ({ id: tile.id, layouts: { ...tile.layouts, sm: places.get(tile.id) } })),
    });
  const remove = async (tile: Tile, name: string): Promise<void> => {
    if (!(await write({ tiles: [{ id: tile.id, deleted: true }] }))) return;
    const { layouts, color, show_description, insight, text } = tile;
    const shows = text === null ? { insight: insight?.id } : { text: { body: text.body } };
    tellUndoable(`${name} is off the dashboard.`, () =>
      write({ tiles: [{ layouts, color, show_description, ...shows }] }),
    );
  };
  const leave = (deleted: Board): void => {
    tellUndoable(`${deleted.name || 'The dashboard'} is deleted.`, async () => {
      await restoreDashboard(project, deleted.id);
      await renew('dashboard', 'dashboards');
    });
    navigate({ to: `/projects/${project}/dashboards`, replace: true });
  };

  const adding = {
    project,
    dashboard: value.id,
    shown: value.tiles.flatMap(({ insight }) => insight?.id ?? []),
    add: (insights: readonly number[]) => write({ tiles: insights.map((insight) => ({ insight })) }),
    lacks,
  };

  return (
    <Page
      title={value.name || 'Untitled'}
      asked={asked}
      actions={
        <>
          <ScopedButton
            scope="dashboard:write"
            lacks={lacks}
            variant="default"
            size="xs"
            onClick={() => attempt({ pinned: !value.pinned })}
          >
            {value.pinned ? 'Unpin' : 'Pin'}
          </ScopedButton>
          <Rename data={data} write={write} lacks={lacks} />
          <Sharing {...own} lacks={lacks} />
          <DialogButton label="Access" scope="access_control:read" dialogSize="lg">
            <LoadedLater fallback={<Loading />}>
              <AccessRules {...own} />
            </LoadedLater>
          </DialogButton>
          <DialogButton label="Collaborators" scope="dashboard:read">
            <Collaborators {...own} value={value} write={write} />
          </DialogButton>
          <ToButton to={`/projects/${project}/subscriptions`} view={{ dashboard: id }} variant="default" size="xs">
            Subscriptions
          </ToButton>
          <Duplicate project={project} value={value} />
          <AddInsight {...adding} />
          <NewText add={(body) => write({ tiles: [{ text: { body } }] })} lacks={lacks} />
          <ScopedButton
            scope="dashboard:write"
            lacks={lacks}
            variant={isEditing ? 'filled' : 'default'}
            size="xs"
            onClick={toggle}
          >
            {isEditing ? 'Done' : 'Edit layout'}
          </ScopedButton>
          <ConfirmButton label="Delete" scope="dashboard:write" lacks={lacks} act={() => write({ deleted: true })}>
            The dashboard goes from all lists; its insights stay. The list of deleted ones can bring it back.
          </ConfirmButton>
        </>
      }
    >
      <Stack>
        {value.description !== '' && (
          <Text style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>{value.description}</Text>
        )}
        {value.tags.length > 0 && (
          <Group gap={4}>
            {value.tags.map((tag) => (
              <Label key={tag} mayBreak>
                {tag}
              </Label>
            ))}
          </Group>
        )}
        {value.tiles.some(({ insight }) => insight !== null) && (
          <BoardDates board={board} tiles={value.tiles} write={write} lacks={lacks} />
        )}
        {value.tiles.length === 0 ? (
          <Empty>
            <Stack align="center" gap="sm">
              <Text>Nothing on it yet.{lacks === undefined && ' “Add text” writes a note.'}</Text>
              {lacks === undefined && (
                <Group justify="center" gap="xs">
                  <AddInsight {...adding} />
                  <ToButton {...newInsightOn(project, value.id)} size="xs">
                    New insight
                  </ToButton>
                </Group>
              )}
            </Stack>
          </Empty>
        ) : (
          <TileGrid
            board={board}
            tiles={value.tiles}
            isEditing={isEditing}
            place={place}
            remove={(tile, name) => void remove(tile, name).catch(tellProblem)}
            actions={(tile, name) => (
              <>
                {tile.text !== null && (
                  <EditText
                    body={tile.text.body}
                    seen={data}
                    write={(body, seen) => write({ tiles: [{ id: tile.id, text: { body } }] }, seen)}
                  />
                )}
                <TileActions {...own} tile={tile} name={name} />
              </>
            )}
          />
        )}
      </Stack>
      {notice}
    </Page>
  );
}

interface RenameProps extends Pick<Needed, 'lacks'> {
  readonly data: Versioned<Board>;
  readonly write: (change: Change, seen: Versioned<Board>) => Promise<unknown>;
}

function Rename({ data, write, lacks }: RenameProps) {
  return (
    <FormDialog
      label="Rename"
      scope="dashboard:write"
      lacks={lacks}
      initial={namesOf(data.value)}
      seen={data}
      does="Save"
      submit={(_, { changed: { tags, ...rest }, seen }) => {
        const named = tags?.split(',').map((tag) => tag.trim());
        return write({ ...rest, ...(named && { tags: named.filter((tag) => tag !== '') }) }, seen);
      }}
    >
      {(form) => (
        <>
          <TextInput label="Name" data-autofocus {...form.text('name')} />
          <Textarea label="Description" autosize minRows={2} maxRows={8} {...form.text('description')} />
          <TextInput label="Tags" description="With commas between them" {...form.text('tags')} />
        </>
      )}
    </FormDialog>
  );
}

const namesOf = ({ name, description, tags }: Board) => ({ name, description, tags: tags.join(', ') });
