import { Box, Button, Group, Select, Stack, Text, TextInput, Tooltip, UnstyledButton } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { dayOf } from '../../../basics/days.ts';
import { DAY_MS } from '../../../basics/units.ts';
import { type BatchExport, type Run, useRunsBetween } from '../../client/exports.ts';
import { type StripCell, stripOf, stripRows } from '../../client/intervals.ts';
import { utcDate } from '../../client/local-time.ts';
import { useView } from '../address.ts';
import { bothRanges, utcRange } from '../instant.tsx';
import { Missing } from '../problem.tsx';
import { statusName } from '../status.tsx';

/** The colour and the sign of a state, which every font has: nobody has to tell colours apart. */
const LOOKS: Readonly<Record<Run['status'], readonly [color: string, sign: string]>> = {
  Starting: ['blue.2', '…'],
  Running: ['blue.2', '…'],
  Completed: ['green.2', ''],
  Failed: ['red.3', '×'],
  FailedRetryable: ['orange.3', '»'],
  Cancelled: ['gray.4', '–'],
  Terminated: ['red.3', '×'],
  TimedOut: ['red.3', '×'],
};

const CELL_PX = 18;

const iso = (instant: number): string => new Date(instant).toISOString();

const STEPS: Readonly<Record<string, readonly [across: number, down: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

const place = (one: Element): number => [...(one.parentElement?.children ?? [])].indexOf(one);
const withRun = (row: Element): Element[] => [...row.children].filter((one) => one.querySelector('button'));

/** Goes with the arrow keys to the next cell of the row that has a run, or to the nearest one of the next row that has any. */
function step(event: KeyboardEvent<HTMLElement>): void {
  const by = STEPS[event.key];
  const cell = (event.target as HTMLElement).closest('[role=gridcell]');
  const row = cell?.parentElement;
  if (by === undefined || cell === null || row?.parentElement == null) return;
  event.preventDefault();
  const [across, down] = by;
  const at = place(cell);
  const ahead =
    down === 0
      ? withRun(row).filter((one) => (place(one) - at) * across > 0)
      : [...row.parentElement.children]
          .filter((one) => (place(one) - place(row)) * down > 0 && withRun(one).length > 0)
          .toSorted((a, b) => (place(a) - place(b)) * down)
          .slice(0, 1)
          .flatMap(withRun);
  const next = ahead.toSorted((a, b) => Math.abs(place(a) - at) - Math.abs(place(b) - at));
  next[0]?.querySelector('button')?.focus();
}

interface RunStripProps {
  readonly project: string;
  readonly one: BatchExport;
  readonly open: (run: string) => void;
}

/**
 * The intervals of a span of time, each in the state of its newest run; the address keeps the span. One of them can be
 * reached by Tab, the others from there by arrow keys.
 */
export function RunStrip({ project, one, open }: RunStripProps) {
  const [view, setView] = useView();
  const [last, setLast] = useState(0);
  const now = Date.now();
  const strip = stripOf(one.interval, { span: view['span'], until: view['until'] }, now);
  const { from, to, span, isCurrent } = strip;
  const asked = useRunsBetween(project, one.id, from, to);
  const { data } = asked;
  const [newest] = one.latest_runs;
  if (newest === undefined) return null;
  const upTo = (instant: number): void => setView({ until: instant < now ? iso(instant) : undefined });
  const rows = stripRows(strip, data?.runs ?? [], now);
  const nameOf = (start: number): string =>
    strip.row < DAY_MS ? iso(start).slice(0, 16).replace('T', ' ') : dayOf(start);
  const ran = rows.flatMap(({ cells }) => cells).filter(({ run }) => run !== undefined);
  const current = ran.some(({ start }) => start === last) ? last : ran[0]?.start;
  return (
    <Stack gap="xs" role="group" aria-label="Intervals">
      <Group align="end" gap="sm">
        <Select
          label="Intervals of"
          w={130}
          data={strip.spans.map(({ value, label }) => ({ value, label }))}
          value={span.value}
          allowDeselect={false}
          onChange={(value) => setView({ span: value ?? undefined })}
        />
        <TextInput
          type="date"
          label="Up to (UTC)"
          max={dayOf(now)}
          value={dayOf(to - 1)}
          onChange={(event) => {
            const chosen = Date.parse(event.currentTarget.value);
            if (!Number.isNaN(chosen)) upTo(chosen + DAY_MS);
          }}
        />
        <Button variant="default" onClick={() => upTo(from)}>
          Earlier
        </Button>
        <Button variant="default" disabled={isCurrent} onClick={() => upTo(to + (to - from))}>
          Later
        </Button>
      </Group>
      <Missing asked={asked} />
      <Marks strip={strip} name={nameOf} />
      <Box
        role="grid"
        aria-label="Intervals by their state"
        aria-description="Arrow keys go from one to the next, Enter opens its run"
        aria-busy={data === undefined}
        aria-readonly
        onKeyDown={step}
      >
        {rows.map(({ start, cells }) => (
          <Box key={start} role="row" className="strip-row" __vars={{ '--cells': String(cells.length) }}>
            <Text role="rowheader" size="xs" c="dimmed">
              {nameOf(start)}
            </Text>
            {cells.map((cell) => (
              <Cell
                key={cell.start}
                cell={cell}
                isKnown={data !== undefined}
                isCurrent={cell.start === current}
                focused={() => setLast(cell.start)}
                open={open}
              />
            ))}
          </Box>
        ))}
      </Box>
      {data !== undefined && (
        <Group gap="sm">
          {ran.length === 0 ? (
            <>
              <Text size="sm">None of these intervals has run.</Text>
              <Button variant="default" size="compact-sm" onClick={() => upTo(Date.parse(newest.data_interval_end))}>
                {`Show ${utcDate(newest.data_interval_start)}`}
              </Button>
            </>
          ) : (
            <Legend cells={rows.flatMap(({ cells }) => cells)} />
          )}
          {!data.isWhole && (
            <Text size="sm">There are more runs than are shown: choose a shorter span to see those before.</Text>
          )}
        </Group>
      )}
    </Stack>
  );
}

interface MarksProps {
  readonly strip: ReturnType<typeof stripOf>;
  /** Returns the name of the row that begins at an instant. */
  readonly name: (start: number) => string;
}

/** Says by whose clock the rows are, and above their columns what these are. */
function Marks({ strip: { from, row, cell, marks }, name }: MarksProps) {
  return (
    <Box aria-hidden className="strip-row strip-marks" __vars={{ '--cells': String(row / cell) }}>
      {/* As wide as the names of rows, so that columns stand below their marks. */}
      <Text size="xs" data-name={name(from)}>
        UTC
      </Text>
      {Array.from({ length: row / cell }, (_, at) => (
        <span key={from + at * cell}>{marks[at]}</span>
      ))}
    </Box>
  );
}

/** Says what the colours and signs in the strip mean. */
function Legend({ cells }: { readonly cells: readonly StripCell[] }) {
  const states = new Set(cells.map(({ run }) => run?.status));
  const hasMissing = cells.some(({ run, isOver }) => run === undefined && isOver);
  return (
    <>
      {Object.entries(LOOKS)
        .filter(([status]) => states.has(status as Run['status']))
        .map(([status, [color, sign]]) => (
          <Group key={status} gap={6}>
            <Box aria-hidden className="strip-cell" bg={color} w={CELL_PX}>
              {sign}
            </Box>
            <Text size="xs">{statusName(status as Run['status'])}</Text>
          </Group>
        ))}
      {hasMissing && (
        <Group gap={6}>
          <Box aria-hidden className="strip-cell strip-missing" w={CELL_PX} />
          <Text size="xs">Has not run</Text>
        </Group>
      )}
    </>
  );
}

interface CellProps {
  readonly cell: StripCell;
  /** Whether it is known what has run. */
  readonly isKnown: boolean;
  /** Whether Tab leads to it. */
  readonly isCurrent: boolean;
  readonly focused: () => void;
  readonly open: (run: string) => void;
}

function Cell({ cell: { start, end, run, intervals, isOver }, isKnown, isCurrent, focused, open }: CellProps) {
  if (run === undefined) {
    const label = `${utcRange(iso(start), iso(end))}: has not run`;
    return isKnown && isOver ? (
      <div
        role="gridcell"
        aria-label={label}
        title={`${bothRanges(iso(start), iso(end))}: has not run`}
        className="strip-cell strip-missing"
      />
    ) : (
      <div role="gridcell" className="strip-cell" />
    );
  }
  const [color, sign] = LOOKS[run.status];
  const several = intervals === 1 ? '' : `, the worst of ${intervals}`;
  const said = `: ${statusName(run.status)}${several}`;
  const label = `${utcRange(run.data_interval_start, run.data_interval_end)}${said}`;
  return (
    <div role="gridcell">
      <Tooltip
        label={`${bothRanges(run.data_interval_start, run.data_interval_end)}${said}`}
        events={{ hover: true, focus: true, touch: true }}
        withinPortal={false}
        transitionProps={{ duration: 0 }}
      >
        <UnstyledButton
          aria-label={label}
          tabIndex={isCurrent ? 0 : -1}
          onFocus={focused}
          onClick={() => open(run.id)}
          className="strip-cell"
          bg={color}
        >
          {sign}
        </UnstyledButton>
      </Tooltip>
    </div>
  );
}
