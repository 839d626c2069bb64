import { ActionIcon, Box, Card, Group, Skeleton, Text, VisuallyHidden } from '@mantine/core';
import { useInViewport, useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { KeyboardEvent, PointerEvent, ReactNode, Ref } from 'react';
import { COLUMNS, type Place } from '../../../charts/places.ts';
import type { Tile } from '../../client/dashboards.ts';
import { type BoardView, insightName, tileAnswer, toldAnswer, unheededBy } from '../../client/insights.ts';
import { eachMinute } from '../../client/polling.ts';
import { Computed } from '../insights/computed.tsx';
import { LazyChart } from '../insights/lazy-chart.tsx';
import { useKeptFocus } from '../kept-focus.ts';
import { LineIcon } from '../line-icon.tsx';
import { Markdown } from '../markdown.tsx';
import { MayBeOld, Problem } from '../problem.tsx';
import { RemoveIcon } from '../remove-icon.tsx';
import { To } from '../to.tsx';
import { GAP_PX, ROW_PX, useArranging } from './arranging.ts';

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

/** Tiles in their places. While it is edited, each is dragged by its handle or moved and sized with the arrow keys. */
export function TileGrid({ board, tiles, isEditing, place, remove, actions }: TileGridProps) {
  const isWide = useMediaQuery(WIDE, true, { getInitialValueInEffect: false });
  const kept = useKeptFocus(tiles);
  const { places, said, drag, step } = useArranging(tiles, kept.ref, place);
  const ordered = tiles.toSorted((a, b) => {
    const [one, other] = [places.get(a.id), places.get(b.id)] as [Place, Place];
    return one.y - other.y || one.x - other.x;
  });
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
