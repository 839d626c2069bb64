import { Box, Group, Text, Tooltip, UnstyledButton } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import type { Run } from '../../client/exports.ts';
import { localTime } from '../instant.tsx';

/** The colour and the sign of a state: nobody has to tell colours apart. */
const LOOKS: Readonly<Record<Run['status'], readonly [color: string, sign: string]>> = {
  Starting: ['blue.2', '…'],
  Running: ['blue.2', '…'],
  Completed: ['green.2', ''],
  Failed: ['red.3', '✗'],
  FailedRetryable: ['orange.3', '↻'],
  Cancelled: ['gray.4', '–'],
  Terminated: ['red.3', '✗'],
  TimedOut: ['red.3', '✗'],
};

const SHOWN = 14;
const CELL_PX = 18;

const HOUR_MS = 3_600_000;
const HOURS = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));

/** Returns the cells of a day, in order: of intervals of an hour each stands at its hour, with gaps where none ran. */
function cellsOf(runs: readonly Run[]): readonly (Run | undefined)[] {
  const isHourly = runs.every(
    ({ data_interval_start: from, data_interval_end: until }) => Date.parse(until) - Date.parse(from) === HOUR_MS,
  );
  if (!isHourly) return runs.toSorted((a, b) => (a.data_interval_start < b.data_interval_start ? -1 : 1));
  return HOURS.map((hour) => runs.find(({ data_interval_start: from }) => from.slice(11, 13) === hour));
}

const STEPS: Readonly<Record<string, readonly [across: number, down: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Goes with the arrow keys to the next cell that has a run, or to the nearest one of the next day that has any. */
function step(event: KeyboardEvent<HTMLElement>): void {
  const by = STEPS[event.key];
  const cell = (event.target as HTMLElement).closest('[role=gridcell]');
  const row = cell?.parentElement;
  if (by === undefined || cell === null || row?.parentElement == null) return;
  event.preventDefault();
  const [across, down] = by;
  const cells = [...row.children];
  const at = cells.indexOf(cell);
  const rows = [...row.parentElement.children];
  const distance = (one: Element): number => Math.abs([...(one.parentElement?.children ?? [])].indexOf(one) - at);
  const ahead =
    down === 0
      ? cells.filter((_, place) => (place - at) * across > 0)
      : [...(rows[rows.indexOf(row) + down]?.children ?? [])];
  const next = ahead.filter((one) => one.querySelector('button')).toSorted((a, b) => distance(a) - distance(b));
  next[0]?.querySelector('button')?.focus();
}

interface RunStripProps {
  readonly runs: readonly Run[];
  readonly open: (run: string) => void;
}

/**
 * The intervals that have run: a row is a day, each cell an interval in its last state, the newest day first. One of them
 * can be reached by Tab, the others from there by arrow keys.
 */
export function RunStrip({ runs, open }: RunStripProps) {
  const [last, setLast] = useState('');
  const newest = new Map<string, Run>();
  // Runs come newest first: the first one of an interval is its last state.
  for (const run of runs) if (!newest.has(run.data_interval_start)) newest.set(run.data_interval_start, run);
  if (newest.size < 2) return null;
  const days = Map.groupBy(newest.values(), (run) => run.data_interval_start.slice(0, 10));
  const shown = [...days].toSorted(([a], [b]) => (a < b ? 1 : -1)).slice(0, SHOWN);
  const cells = shown.map(([day, ran]) => [day, cellsOf(ran)] as const);
  const all = cells.flatMap(([, ran]) => ran).filter((run) => run !== undefined);
  const current = all.some(({ id }) => id === last) ? last : all[0]?.id;
  return (
    <Box
      role="grid"
      aria-label="Intervals by their state, a row for each day"
      aria-description="Arrow keys go from one to the next, Enter opens its run"
      aria-readonly
      onKeyDown={step}
    >
      {cells.map(([day, ran]) => (
        <Group key={day} role="row" gap={4} mb={4}>
          <Text role="rowheader" size="xs" w={84} c="dimmed">
            {day}
          </Text>
          {ran.map((run, at) => (
            <Box key={run?.id ?? at} role="gridcell" w={CELL_PX} h={CELL_PX}>
              {run !== undefined && (
                <Cell
                  run={run}
                  isCurrent={run.id === current}
                  focused={() => setLast(run.id)}
                  open={() => open(run.id)}
                />
              )}
            </Box>
          ))}
        </Group>
      ))}
    </Box>
  );
}

interface CellProps {
  readonly run: Run;
  /** Whether Tab leads to it. */
  readonly isCurrent: boolean;
  readonly focused: () => void;
  readonly open: () => void;
}

function Cell({ run, isCurrent, focused, open }: CellProps) {
  const [color, sign] = LOOKS[run.status];
  const label = `${localTime(run.data_interval_start)}: ${run.status}`;
  return (
    <Tooltip label={label} events={{ hover: true, focus: true, touch: true }} withinPortal={false}>
      <UnstyledButton
        aria-label={label}
        tabIndex={isCurrent ? 0 : -1}
        onFocus={focused}
        onClick={open}
        display="block"
        bg={color}
        c="black"
        fz={10}
        ta="center"
        lh={`${CELL_PX}px`}
        w={CELL_PX}
        h={CELL_PX}
        style={{ borderRadius: 3 }}
      >
        {sign}
      </UnstyledButton>
    </Tooltip>
  );
}
