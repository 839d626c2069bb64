import { ActionIcon, Box, Card, Group, Skeleton, Text, VisuallyHidden } from '@mantine/core';
import { useInViewport, useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';
import { COLUMNS, type Place, placesOf } from '../../../charts/places.ts';
import type { Tile } from '../../client/dashboards.ts';
import { type BoardView, tileAnswer, toldAnswer, unheededBy } from '../../client/insights.ts';
import { moved, pastNext } from '../../client/layout.ts';
import { eachMinute } from '../../client/polling.ts';
import { counted } from '../../client/words.ts';
import { Computed } from '../insights/computed.tsx';
import { LazyChart } from '../insights/lazy-chart.tsx';
import { useKeptFocus } from '../kept-focus.ts';
import { Markdown } from '../markdown.tsx';
import { MayBeOld, Problem } from '../problem.tsx';
import { RemoveIcon } from '../remove-icon.tsx';
import { To } from '../to.tsx';

const ROW_PX = 56;
const GAP_PX = 12;
/** Below it tiles stand under each other, in the order of their places. */
const WIDE = '(min-width: 48em)';

interface TileGridProps {
  readonly board: BoardView;
  readonly tiles: readonly Tile[];
  readonly isEditing: boolean;
  readonly place: (places: ReadonlyMap<number, Place>) => void;
  readonly remove: (tile: Tile, name: string) => void;
  /** What else can be done with a tile while it is edited. */
  readonly actions: (tile: Tile) => ReactNode;
}

/** Returns the place of each tile by its number. */
function storedPlaces(tiles: readonly Tile[]): ReadonlyMap<number, Place> {
  const places = placesOf(tiles.map(({ layouts }) => layouts));
  return new Map(tiles.map(({ id }, at) => [id, places[at] as Place]));
}

/** Tiles in their places. While it is edited, each is dragged by its handle or moved and sized with the arrow keys. */
export function TileGrid({ board, tiles, isEditing, place, remove, actions }: TileGridProps) {
  const isWide = useMediaQuery(WIDE, true, { getInitialValueInEffect: false });
  const kept = useKeptFocus(tiles);
  const grid = kept.ref;
  const [dragged, setDragged] = useState<{ id: number; at: Place } | null>(null);
  const [said, setSaid] = useState('');
  const stored = storedPlaces(tiles);
  const places = dragged === null ? stored : moved(stored, dragged.id, dragged.at);
  const ordered = tiles.toSorted((a, b) => {
    const [one, other] = [places.get(a.id), places.get(b.id)] as [Place, Place];
    return one.y - other.y || one.x - other.x;
  });

  /** Follows the pointer from the handle; `isSize`: the tile's size, else its place. */
  const drag = (id: number, isSize: boolean) => (event: PointerEvent<HTMLElement>) => {
    const from = stored.get(id);
    const width = grid.current?.clientWidth;
    if (from === undefined || width === undefined) return;
    event.preventDefault();
    const column = (width + GAP_PX) / COLUMNS;
    const row = ROW_PX + GAP_PX;
    const [left, top] = [event.clientX, event.clientY];
    const handle = event.currentTarget;
    handle.setPointerCapture(event.pointerId);
    let last = from;
    const listening = new AbortController();
    const { signal } = listening;
    const follow = ({ clientX, clientY }: { readonly clientX: number; readonly clientY: number }): void => {
      const [x, y] = [Math.round((clientX - left) / column), Math.round((clientY - top) / row)];
      last = isSize
        ? { ...from, w: from.w + x, h: Math.max(1, from.h + y) }
        : { ...from, x: from.x + x, y: from.y + y };
      setDragged({ id, at: last });
    };
    const end = (): void => {
      listening.abort();
      setDragged(null);
      if (last !== from) place(moved(stored, id, last));
    };
    handle.addEventListener('pointermove', follow, { signal });
    handle.addEventListener('pointerup', end, { signal });
    handle.addEventListener('pointercancel', end, { signal });
  };

  /** Moves a tile, and says where it stands then to who does not see it. */
  const put = (id: number, name: string, at: Place): void => {
    const next = moved(stored, id, at);
    const { x, y, w, h } = next.get(id) as Place;
    setSaid(`${name} is at column ${x + 1}, row ${y + 1}, ${counted(w, 'column')} wide, ${counted(h, 'row')} high.`);
    place(next);
  };

  const step = (id: number, name: string, isSize: boolean) => (event: KeyboardEvent) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const from = stored.get(id);
    if (by === undefined || from === undefined) return;
    event.preventDefault();
    const [x = 0, y = 0] = by;
    if (isSize) put(id, name, { ...from, w: from.w + x, h: from.h + y });
    else {
      const to = y === 0 ? { ...from, x: from.x + x } : pastNext(stored, id, y > 0);
      if (to !== undefined) put(id, name, to);
    }
  };

  return (
    <>
      <VisuallyHidden role="status">{said}</VisuallyHidden>
      <Box
        {...kept}
        role="group"
        aria-label="Tiles"
        style={
          isWide
            ? {
                display: 'grid',
                gridTemplateColumns: `repeat(${COLUMNS}, minmax(0, 1fr))`,
                gridAutoRows: ROW_PX,
                gap: GAP_PX,
              }
            : { display: 'flex', flexDirection: 'column', gap: GAP_PX }
        }
      >
        {ordered.map((tile) => {
          const { x, y, w, h } = places.get(tile.id) as Place;
          const name = nameOf(tile);
          return (
            <Card
              key={tile.id}
              withBorder
              padding="sm"
              component="section"
              aria-label={name}
              style={isWide ? { gridColumn: `${x + 1} / span ${w}`, gridRow: `${y + 1} / span ${h}` } : {}}
            >
              {isEditing && (
                <Group gap={4} mb={4} justify="end">
                  {actions(tile)}
                  {isWide && (
                    <>
                      <Handle
                        label={`Move ${name}`}
                        help="Drag, or use the arrow keys"
                        path="M8 1v14M1 8h14M6 3l2-2 2 2M6 13l2 2 2-2M3 6L1 8l2 2M13 6l2 2-2 2"
                        onPointerDown={drag(tile.id, false)}
                        onKeyDown={step(tile.id, name, false)}
                      />
                      <Handle
                        label={`Size ${name}`}
                        help="Drag, or use the arrow keys"
                        path="M3 3l10 10M3 7V3h4M13 9v4H9"
                        onPointerDown={drag(tile.id, true)}
                        onKeyDown={step(tile.id, name, true)}
                      />
                    </>
                  )}
                  <RemoveIcon what={name} onClick={() => remove(tile, name)} />
                </Group>
              )}
              <TileContent board={board} tile={tile} />
            </Card>
          );
        })}
      </Box>
    </>
  );
}

interface HandleProps {
  readonly label: string;
  readonly help: string;
  /** The lines of its picture, in a square of 16. */
  readonly path: string;
  readonly onPointerDown: (event: PointerEvent<HTMLElement>) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function Handle({ label, help, path, ...events }: HandleProps) {
  return (
    <ActionIcon
      variant="default"
      aria-label={label}
      aria-description={help}
      style={{ cursor: 'move', touchAction: 'none' }}
      {...events}
    >
      <svg
        viewBox="0 0 16 16"
        width="1rem"
        height="1rem"
        fill="none"
        stroke="currentColor"
        strokeWidth={1.2}
        aria-hidden
      >
        <path d={path} />
      </svg>
    </ActionIcon>
  );
}

const FIRST_LINE = /^[#\s]*(.{1,60})/;

/** Returns what a tile is called: its insight's name, or how its text begins. */
function nameOf({ insight, text }: Tile): string {
  if (insight !== null) return insight.name || insight.derived_name || 'Untitled insight';
  return FIRST_LINE.exec(text?.body ?? '')?.[1] ?? 'Text';
}

interface TileContentProps extends Pick<TileGridProps, 'board'> {
  readonly tile: Tile;
}

function TileContent({ board, tile }: TileContentProps) {
  const { insight, text } = tile;
  return (
    <Box style={{ overflow: 'auto' }} h="100%" tabIndex={0} role="group" aria-label="Content">
      {text !== null && <Markdown text={text.body} />}
      {insight !== null && (
        <>
          <To to={`/projects/${board.project}/insights/${insight.id}`}>{nameOf(tile)}</To>
          {insight.description !== '' && (
            <Text size="sm" c="dimmed">
              {insight.description}
            </Text>
          )}
          <TileChart board={board} insight={insight} />
        </>
      )}
    </Box>
  );
}

interface TileChartProps extends Pick<TileGridProps, 'board'> {
  readonly insight: NonNullable<Tile['insight']>;
}

/** A chart and how old it is. Its first answer is asked for wherever it stands, later ones while it is on the screen. */
function TileChart({ board, insight }: TileChartProps) {
  const { ref, inViewport } = useInViewport();
  const { data, error, isFetching, refetch } = useQuery({
    ...tileAnswer(board, insight),
    enabled: ({ state }) => insight.query !== null && (inViewport || state.data === undefined),
    refetchInterval: eachMinute,
  });
  if (insight.query === null) return null;
  const known = data ?? toldAnswer(board, insight);
  const ask = (): void => void refetch();
  const unheeded = unheededBy(board, insight.query);
  if (known === undefined)
    return error === null ? <Skeleton height={160} mt="xs" /> : <Problem error={error} retry={ask} />;
  return (
    <Box ref={ref}>
      {unheeded !== undefined && (
        <Text size="xs" c="dimmed">
          Not by the dashboard’s {unheeded}
        </Text>
      )}
      <MayBeOld error={error} retry={ask} />
      <LazyChart query={insight.query} answer={known} />
      <Computed answer={known} isAsking={isFetching} ask={ask} />
    </Box>
  );
}
