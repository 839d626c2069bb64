import { Group, Select } from '@mantine/core';
import { lazy } from 'react';
import type { Dashboard, Tile } from '../../client/dashboards.ts';
import type { BoardView } from '../../client/insights.ts';
import { text } from '../../client/json.ts';
import { BOARD_RANGES, type DateRange, rangeText } from '../../client/ranges.ts';
import { ActButton } from '../act-button.tsx';
import { useView } from '../address.ts';
import { Days } from '../days.tsx';
import { LoadedLater } from '../loaded-later.tsx';
import type { Needed } from '../scoped-button.tsx';
import { BoardFilters } from './board-filters.tsx';

const DataRangeOffer = lazy(() => import('./data-range-offer.tsx'));

/** How the address says that each chart has its own dates, whatever the dashboard keeps. */
const OWN = 'own';
const OWN_LABEL = 'As each chart has it';

const isOwn = ({ date_from, date_to }: DateRange): boolean => date_from === null && date_to === null;

/** Returns the dates that the address asks for; undefined: those that the dashboard keeps. */
export function useChosenRange(): DateRange | undefined {
  const [{ from, to }] = useView();
  return from === undefined ? undefined : rangeAt(from, to ?? null);
}

/** Returns the dates that a name in the address, or in the list of choices, begins. */
const rangeAt = (from: string, to: string | null): DateRange => ({
  date_from: from === OWN ? null : from,
  date_to: to,
});

/** The choice of dates that the list does not name. */
const OTHER = 'days';

/** Returns which choice of the list these dates are; empty: those that the dashboard keeps. */
function choiceOf(range: DateRange | undefined): string {
  if (range === undefined) return '';
  if (isOwn(range)) return OWN;
  const listed = BOARD_RANGES.find(({ value }) => value === range.date_from && range.date_to === null);
  return listed?.value ?? OTHER;
}

interface BoardDatesProps extends Pick<Needed, 'lacks'> {
  readonly board: BoardView;
  readonly tiles: readonly Tile[];
  /** Resolves to whether it is written. */
  readonly write: (change: { filters: Dashboard['filters'] }) => Promise<boolean>;
}

/** Chooses the dates, and beside them the filters, of all charts: for the reader, in the address, and for everybody when they are kept. */
export function BoardDates({ board, tiles, write, lacks }: BoardDatesProps) {
  const [, setView] = useView();
  const { filters, range } = board;
  const kept = { date_from: text(filters['date_from'], '') || null, date_to: text(filters['date_to'], '') || null };
  const choose = (next: DateRange | undefined): void =>
    setView({ from: next && (next.date_from ?? OWN), to: next?.date_to ?? undefined });
  const keep = async (): Promise<void> => {
    if (await write({ filters: { ...filters, ...range } })) choose(undefined);
  };
  const asked = range ?? kept;
  const shown = isOwn(asked) ? undefined : asked;
  const chosen = choiceOf(range);
  const own = isOwn(kept) && chosen !== OWN ? [] : [{ value: OWN, label: OWN_LABEL }];
  const other = range !== undefined && chosen === OTHER ? [{ value: OTHER, label: rangeText(range) }] : [];
  return (
    <>
      <Group align="end" gap="xs">
        <Select
          label="Dates"
          size="xs"
          w="17rem"
          data={[
            { value: '', label: `${isOwn(kept) ? OWN_LABEL : rangeText(kept)} (kept)` },
            ...own,
            ...other,
            ...BOARD_RANGES,
          ]}
          value={chosen}
          allowDeselect={false}
          onChange={(value) =>
            value !== OTHER && value !== null && choose(value === '' ? undefined : rangeAt(value, null))
          }
        />
        <Days scope="dashboard:read" range={asked} does="Show them" choose={choose} />
        {range !== undefined && (
          <ActButton scope="dashboard:write" lacks={lacks} size="xs" act={keep}>
            Keep these dates
          </ActButton>
        )}
        <BoardFilters board={board} write={write} lacks={lacks} />
      </Group>
      <LoadedLater>
        <DataRangeOffer board={board} shown={shown} tiles={tiles} choose={choose} />
      </LoadedLater>
    </>
  );
}
