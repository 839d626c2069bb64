import { Group, Select, TextInput } from '@mantine/core';
import { lazy } from 'react';
import type { Dashboard, Tile } from '../../client/dashboards.ts';
import type { BoardView } from '../../client/insights.ts';
import { BOARD_RANGES, type DateRange, daysOf, rangeText } from '../../client/ranges.ts';
import { ActButton } from '../act-button.tsx';
import { useView } from '../address.ts';
import { FormDialog } from '../form-dialog.tsx';
import { LoadedLater } from '../loaded-later.tsx';
import { BoardFilters } from './board-filters.tsx';

const DataRangeOffer = lazy(() => import('./data-range-offer.tsx'));

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Returns the dates that the address asks for; undefined: those that the dashboard keeps. */
export function useChosenRange(): DateRange | undefined {
  const [{ from, to }] = useView();
  return from === undefined ? undefined : { date_from: from, date_to: to ?? null };
}

interface BoardDatesProps {
  readonly board: BoardView;
  readonly tiles: readonly Tile[];
  /** Resolves to whether it is written. */
  readonly write: (change: { filters: Dashboard['filters'] }) => Promise<boolean>;
}

/** Chooses the dates, and beside them the filters, of all charts: for the reader, in the address, and for everybody when they are kept. */
export function BoardDates({ board, tiles, write }: BoardDatesProps) {
  const [, setView] = useView();
  const { filters, range } = board;
  const kept = { date_from: text(filters['date_from']), date_to: text(filters['date_to']) };
  const choose = (next: DateRange | undefined): void =>
    setView({ from: next?.date_from ?? undefined, to: next?.date_to ?? undefined });
  const keep = async (): Promise<void> => {
    if (await write({ filters: { ...filters, ...range } })) choose(undefined);
  };
  const own = kept.date_from === null && kept.date_to === null ? 'As each chart has it' : rangeText(kept);
  const isListed = BOARD_RANGES.some(({ value }) => value === range?.date_from) && range?.date_to === null;
  const other = range === undefined || isListed ? [] : [{ value: 'days', label: rangeText(range) }];
  return (
    <>
      <Group align="end" gap="xs">
        <Select
          label="Dates"
          size="xs"
          w="17rem"
          data={[{ value: '', label: `${own} (kept)` }, ...other, ...BOARD_RANGES]}
          value={range === undefined ? '' : isListed ? range.date_from : 'days'}
          allowDeselect={false}
          onChange={(value) =>
            value !== 'days' && choose(value === null || value === '' ? undefined : { date_from: value, date_to: null })
          }
        />
        <Days range={range ?? kept} choose={choose} />
        {range !== undefined && (
          <ActButton scope="dashboard:write" size="xs" act={keep}>
            Keep these dates
          </ActButton>
        )}
        <BoardFilters board={board} write={write} />
      </Group>
      <LoadedLater>
        <DataRangeOffer board={board} tiles={tiles} choose={choose} />
      </LoadedLater>
    </>
  );
}

interface DaysProps {
  readonly range: DateRange;
  readonly choose: (range: DateRange) => void;
}

/** Is the last day before the first? */
const isTurned = ({ from, to }: ReturnType<typeof daysOf>): boolean => to !== '' && to < from;

/** Chooses a first and a last day. */
function Days({ range, choose }: DaysProps) {
  return (
    <FormDialog
      label="Other days"
      scope="dashboard:read"
      initial={daysOf(range)}
      does="Show them"
      isReady={(days) => days.from !== '' && !isTurned(days)}
      submit={async ({ from, to }) => choose({ date_from: from, date_to: to === '' ? null : to })}
    >
      {(form) => (
        <Group grow align="start">
          <TextInput label="From" type="date" required data-autofocus {...form.text('from')} />
          <TextInput
            label="To"
            type="date"
            description="With this day. Left empty: until now"
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            {...form.text('to')}
            error={isTurned(form.values) && 'It is before the first day.'}
          />
        </Group>
      )}
    </FormDialog>
  );
}
