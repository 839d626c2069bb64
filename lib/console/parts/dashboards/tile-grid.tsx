import { ActionIcon, Box, Card, Group, Skeleton, Text, VisuallyHidden } from '@mantine/core';
import { useInViewport, useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type PointerEvent, type ReactNode, type Ref, useState } from 'react';
import { counted } from '../../../basics/text.ts';
import { COLUMNS, type Place, placesOf } from '../../../charts/places.ts';
import type { Tile } from '../../client/dashboards.ts';
import { type BoardView, insightName, tileAnswer, toldAnswer, unheededBy } from '../../client/insights.ts';
import { moved, pastNext } from '../../client/layout.ts';
import { eachMinute } from '../../client/polling.ts';
import { Computed } from '../insights/computed.tsx';
import { LazyChart } from '../insights/lazy-chart.tsx';
import { useKeptFocus } from '../kept-focus.ts';
import { LineIcon } from '../line-icon.tsx';
import { Markdown } from '../markdown.tsx';
import { MayBeOld, Problem } from '../problem.tsx';
import { RemoveIcon } from '../remove-icon.tsx';
import { To } from '../to.tsx';

const ROW_PX = 56;
const GAP_PX = 12;
/** Of a tile's height, what its edges and the line of its title take; while it is edited that is as high as its handles. */
const AROUND_PX = { seen: 54, edited: 62 };
/** A line of an insight's description. */
const DESCRIPTION_PX = 22;
/** Below it tiles stand under each other, in the order of their places. */
const WIDE = '(min-width: 48em)';

interface TileGridProps {
  readonly board: BoardView;
  readonly tiles: readonly Tile[];
  readonly isEditing: boolean;
  readonly place: (places: ReadonlyMap<number, Place>) => void;
  readonly remove: (tile: Tile, name: string) => void;
  /** What else can be done with a tile while it is edited. */
  readonly actions: (tile: Tile, name: string) => ReactNode;
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
          const actionsHere = isEditing && (
            <Group gap={4} justify="end" flex="none" ml="auto">
              {actions(tile, name)}
              {isWide && (
                <>
                  <Handle
                    label={`Move ${name}`}
                    path="M8 1v14M1 8h14M6 3l2-2 2 2M6 13l2 2 2-2M3 6L1 8l2 2M13 6l2 2-2 2"
                    onPointerDown={drag(tile.id, false)}
                    onKeyDown={step(tile.id, name, false)}
                  />
                  <Handle
                    label={`Size ${name}`}
                    path="M3 3l10 10M3 7V3h4M13 9v4H9"
                    onPointerDown={drag(tile.id, true)}
                    onKeyDown={step(tile.id, name, true)}
                  />
                </>
              )}
              <RemoveIcon what={name} onClick={() => remove(tile, name)} />
            </Group>
          );
          return (
            <Card
              key={tile.id}
              withBorder
              padding="sm"
              component="section"
              aria-label={name}
              style={isWide ? { gridColumn: `${x + 1} / span ${w}`, gridRow: `${y + 1} / span ${h}` } : {}}
            >
              {tile.insight === null ? (
                <>
                  {actionsHere}
                  <Scrolled>{tile.text !== null && <Markdown text={tile.text.body} />}</Scrolled>
                </>
              ) : (
                <InsightContent
                  board={board}
                  insight={tile.insight}
                  name={name}
                  room={isWide ? h * (ROW_PX + GAP_PX) - GAP_PX - AROUND_PX[isEditing ? 'edited' : 'seen'] : undefined}
                  actions={actionsHere}
                />
              )}
            </Card>
          );
        })}
      </Box>
    </>
  );
}

interface HandleProps {
  readonly label: string;
  /** The lines of its picture, in a square of 16. */
  readonly path: string;
  readonly onPointerDown: (event: PointerEvent<HTMLElement>) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function Handle({ label, path, ...events }: HandleProps) {
  return (
    <ActionIcon
      variant="default"
      aria-label={label}
      aria-description="Drag, or use the arrow keys"
      style={{ cursor: 'move', touchAction: 'none' }}
      {...events}
    >
      <LineIcon path={path} />
    </ActionIcon>
  );
}

const FIRST_LINE = /^[#\s]*(.{1,60})/;

/** Returns what a tile is called: its insight's name, or how its text begins. */
function nameOf({ insight, text }: Tile): string {
  if (insight !== null) return insightName(insight, 'Untitled insight');
  return FIRST_LINE.exec(text?.body ?? '')?.[1] ?? 'Text';
}

/** What of a tile can be longer than it. */
function Scrolled({ children, ...rest }: { readonly children: ReactNode; readonly ref?: Ref<HTMLDivElement> }) {
  return (
    <Box className="scrolls" h="100%" tabIndex={0} role="group" aria-label="Content" {...rest}>
      {children}
    </Box>
  );
}

interface InsightContentProps extends Pick<TileGridProps, 'board'> {
  readonly insight: NonNullable<Tile['insight']>;
  readonly name: string;
  /** How many pixels a chart may be high; undefined: as many as it needs. */
  readonly room: number | undefined;
  /** What stands in the line of the title while the tile is edited. */
  readonly actions: ReactNode;
}

/**
 * A chart, and beside its title how old it is. Its first answer is asked for wherever it stands, later ones while it is on
 * the screen.
 */
function InsightContent({ board, insight, name, room, actions }: InsightContentProps) {
  const { query, description } = insight;
  const hasDescription = Boolean(description);
  const { ref, inViewport } = useInViewport();
  const { data, error, refetch } = useQuery({
    ...tileAnswer(board, insight),
    enabled: ({ state }) => query !== null && (inViewport || state.data === undefined),
    refetchInterval: eachMinute,
  });
  const known = query === null ? undefined : (data ?? toldAnswer(board, insight));
  const unheeded = unheededBy(board, query);
  return (
    <>
      <Group gap="xs" wrap={actions === false ? 'nowrap' : 'wrap'} align="start" justify="space-between">
        {/* A long name leaves the chart its room; around it is as much as the focus is drawn in. */}
        <Text
          component="div"
          size="sm"
          lineClamp={actions === false ? 2 : 1}
          flex="1 1 6rem"
          miw={0}
          title={name}
          mx={-4}
          my={-3}
          px={4}
          py={3}
          style={{ overflowWrap: 'anywhere' }}
        >
          <To to={`/projects/${board.project}/insights/${insight.id}`}>{name}</To>
        </Text>
        {actions === false ? known !== undefined && <Computed answer={known} ask={refetch} isShort /> : actions}
      </Group>
      <Scrolled ref={ref}>
        {hasDescription && (
          <Text size="sm" c="dimmed">
            {description}
          </Text>
        )}
        {query !== null && known === undefined && error === null && <Skeleton height={160} mt="xs" />}
        {known === undefined && error !== null && <Problem error={error} retry={() => void refetch()} />}
        {known !== undefined && (
          <>
            {unheeded !== undefined && (
              <Text size="xs" c="dimmed">
                Not by the dashboard’s {unheeded}
              </Text>
            )}
            <MayBeOld error={error} retry={() => void refetch()} />
            <LazyChart query={query} answer={known} room={room && room - (hasDescription ? DESCRIPTION_PX : 0)} />
          </>
        )}
      </Scrolled>
    </>
  );
}
