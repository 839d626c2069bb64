import { Box, Group, Text, Tooltip } from '@mantine/core';
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

/** The intervals that have run: a row is a day, each cell an interval in its last state, the newest day first. */
export function RunStrip({ runs }: { readonly runs: readonly Run[] }) {
  const newest = new Map<string, Run>();
  // Runs come newest first: the first one of an interval is its last state.
  for (const run of runs) if (!newest.has(run.data_interval_start)) newest.set(run.data_interval_start, run);
  if (newest.size < 2) return null;
  const days = Map.groupBy(newest.values(), (run) => run.data_interval_start.slice(0, 10));
  const shown = [...days].toSorted(([a], [b]) => (a < b ? 1 : -1)).slice(0, SHOWN);
  return (
    <Box role="img" aria-label={`${newest.size} intervals by their state`}>
      {shown.map(([day, cells]) => (
        <Group key={day} gap={4} mb={4}>
          <Text size="xs" w={84} c="dimmed">
            {day}
          </Text>
          {cellsOf(cells).map((run, at) =>
            run === undefined ? <Box key={at} w={16} h={16} aria-hidden /> : <Cell key={run.id} run={run} />,
          )}
        </Group>
      ))}
    </Box>
  );
}

function Cell({ run }: { readonly run: Run }) {
  const [color, sign] = LOOKS[run.status];
  return (
    <Tooltip label={`${localTime(run.data_interval_start)}: ${run.status}`}>
      <Box bg={color} c="black" fz={10} ta="center" lh="16px" w={16} h={16} style={{ borderRadius: 3 }} aria-hidden>
        {sign}
      </Box>
    </Tooltip>
  );
}
