import { Autocomplete, Box, Button, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { lazy, useMemo, useState } from 'react';
import { alsoAsked, withoutAlso } from '../../client/also-asked.ts';
import { useEventNames } from '../../client/events.ts';
import { KINDS, type QuestionKind, TRAITS } from '../../client/question-kinds.ts';
import { DISPLAYS, INTERVALS, MATHS, OF_PROPERTY, RANGES, WINDOW_UNITS } from '../../client/question-options.ts';
import { ownSpanText, queryOf } from '../../client/question-query.ts';
import {
  anotherSeries,
  type FunnelWindow,
  lacksProperty,
  ofKind,
  type Question,
  type Series,
} from '../../client/questions.ts';
import { type DateRange, rangeText } from '../../client/ranges.ts';
import { Days } from '../days.tsx';
import { LoadedLater } from '../loaded-later.tsx';
import { Loading } from '../loading.tsx';
import { PropertyFilters } from '../property-filters.tsx';
import { PropertyName } from '../property-name.tsx';
import { RemoveIcon } from '../remove-icon.tsx';
import { TextButton } from '../text-button.tsx';
import { Breakdowns } from './breakdowns.tsx';

const HogqlEditor = lazy(() => import('./hogql-editor.tsx'));

interface BuilderProps {
  readonly project: string;
  readonly question: Question;
  readonly change: (some: Partial<Question>) => void;
  readonly run: () => void;
  /** What is wrong with the query of HogQL, or with the formula. */
  readonly fault: string | undefined;
}

const CHOOSE_PROPERTY = 'Choose a property';

/** Makes a question by choosing. */
export function Builder({ project, question, change, run, fault }: BuilderProps) {
  const { kind, series, filters } = question;
  const names = useEventNames(project).data?.results.map(({ name }) => name) ?? [];
  const traits = TRAITS[kind];
  const shown = traits.hasSeries ? series : series.slice(0, traits.least);
  return (
    <Stack>
      <Select
        label="Question"
        data={KINDS.map(({ value, label, about }) => ({ value, label: `${label}: ${about}` }))}
        value={kind}
        allowDeselect={false}
        onChange={(value) => change(ofKind(question, value ?? 'TrendsQuery'))}
      />
      {kind === 'HogQLQuery' ? (
        <LoadedLater fallback={<Loading />}>
          <HogqlEditor value={question.hogql} change={(hogql) => change({ hogql })} run={run} error={fault} />
        </LoadedLater>
      ) : (
        <>
          {shown.map((one, at) => (
            <SeriesRow
              key={one.key}
              kind={kind}
              one={one}
              at={at}
              names={names}
              set={(some) =>
                change({ series: series.map((other) => (other.key === one.key ? { ...other, ...some } : other)) })
              }
              remove={
                shown.length > traits.least
                  ? () => change({ series: series.filter(({ key }) => key !== one.key) })
                  : undefined
              }
            />
          ))}
          {traits.hasSeries && (
            <Group gap="xs" align="center">
              <Button
                size="xs"
                variant="default"
                onClick={() => change({ series: [...series, anotherSeries(series)] })}
              >
                {traits.adds}
              </Button>
              {traits.hasNumbers && (
                <TextInput
                  aria-label="Formula"
                  aria-description="Of the series by their letters: A / B is the first by the second"
                  placeholder="Formula, as A / B"
                  size="xs"
                  w="9rem"
                  value={question.formula}
                  error={fault}
                  onChange={(event) => change({ formula: event.currentTarget.value })}
                />
              )}
              {traits.hasComparison && (
                <Switch
                  label="Compare with the period before"
                  checked={question.isCompared}
                  onChange={(event) => change({ isCompared: event.currentTarget.checked })}
                />
              )}
            </Group>
          )}
          <PropertyFilters filters={filters} change={(next) => change({ filters: next })} />
          <Group align="end" gap="xs">
            <Group align="end" gap="xs" wrap="nowrap" maw="100%">
              <When question={question} change={(range) => change({ range })} />
              <Box flex="none">
                <Days
                  scope="query:read"
                  range={question.range}
                  does="Choose them"
                  choose={(range) => change({ range })}
                />
              </Box>
            </Group>
            {traits.hasInterval && (
              <Select
                label="By"
                data={INTERVALS}
                value={question.interval}
                allowDeselect={false}
                onChange={(interval) => change({ interval: interval ?? 'day' })}
              />
            )}
            {traits.hasNumbers && (
              <Select
                label="Shown as"
                data={DISPLAYS}
                value={question.display}
                allowDeselect={false}
                onChange={(display) => change({ display: display ?? 'ActionsLineGraph' })}
              />
            )}
          </Group>
          {traits.hasWindow && <Within window={question.window} change={(window) => change({ window })} />}
          {traits.hasBreakdown && (
            <Breakdowns all={question.breakdowns} change={(breakdowns) => change({ breakdowns })} />
          )}
        </>
      )}
      <Also question={question} change={change} />
    </Stack>
  );
}

interface SeriesRowProps {
  readonly kind: QuestionKind;
  readonly one: Series;
  /** Its place, from 0. */
  readonly at: number;
  /** The names of events that were seen. */
  readonly names: readonly string[];
  readonly set: (some: Partial<Series>) => void;
  /** Undefined: there are no more than the question needs. */
  readonly remove: (() => void) | undefined;
}

/** What is counted: an event, how, and what it is called. */
function SeriesRow({ kind, one, at, names, set, remove }: SeriesRowProps) {
  const traits = TRAITS[kind];
  return (
    <Group align="end" gap="xs">
      <Autocomplete
        label={traits.seriesLabel(at)}
        placeholder="all events"
        data={names}
        value={one.event}
        onChange={(event) => set({ event })}
      />
      {traits.hasNumbers && (
        <Select
          label={`Counted ${at + 1}`}
          data={MATHS}
          value={one.math}
          allowDeselect={false}
          onChange={(math) => set({ math: math ?? 'total' })}
        />
      )}
      {traits.hasNumbers && OF_PROPERTY.includes(one.math) && (
        <PropertyName
          label={`Of property ${at + 1}`}
          type="event"
          value={one.property}
          change={(property) => set({ property })}
          fault={lacksProperty(kind, one) ? CHOOSE_PROPERTY : undefined}
        />
      )}
      {traits.hasSeries && (
        <TextInput
          label={`Label ${at + 1}`}
          placeholder="as its event"
          w="9rem"
          value={one.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
      )}
      {remove !== undefined && <RemoveIcon size="lg" what={traits.seriesLabel(at)} onClick={remove} />}
    </Group>
  );
}

interface WhenProps {
  readonly question: Question;
  readonly change: (range: DateRange) => void;
}

/** The dates of a question. Those that are not listed are there as long as they are chosen. */
function When({ question, change }: WhenProps) {
  const { range } = question;
  const isListed = range.date_to === null && RANGES.some(({ value }) => value === range.date_from);
  const other = isListed
    ? []
    : [{ value: 'days', label: range.date_from === null ? ownSpanText(question) : rangeText(range) }];
  return (
    <Select
      label="When"
      w="16rem"
      miw={0}
      data={[...other, ...RANGES]}
      value={isListed ? range.date_from : 'days'}
      allowDeselect={false}
      onChange={(value) => value !== 'days' && change({ date_from: value, date_to: null })}
    />
  );
}

interface WithinProps {
  readonly window: FunnelWindow;
  readonly change: (window: FunnelWindow) => void;
}

/** How long persons of a funnel have for all of its steps. */
function Within({ window, change }: WithinProps) {
  // What is no number yet stands in the field as long as somebody types.
  const [typed, setTyped] = useState<string | null>(null);
  const type = (text: string): void => {
    setTyped(text);
    if (/^[1-9]\d{0,5}$/.test(text)) change({ ...window, count: Number(text) });
  };
  return (
    <Group align="end" gap="xs">
      <TextInput
        label="All steps within"
        type="number"
        w="9rem"
        min={1}
        step={1}
        value={typed ?? window.count}
        onChange={({ currentTarget }) => type(currentTarget.value)}
        onBlur={() => setTyped(null)}
      />
      <Select
        aria-label="Unit of the time for all steps"
        w="8rem"
        data={WINDOW_UNITS}
        value={window.unit}
        allowDeselect={false}
        onChange={(unit) => change({ ...window, unit: unit ?? 'day' })}
      />
    </Group>
  );
}

/** What the query has besides the form, of what may change its numbers. */
function Also({ question, change }: Pick<BuilderProps, 'question' | 'change'>) {
  const also = useMemo(() => alsoAsked(queryOf(question)), [question]);
  if (also.length === 0) return null;
  return (
    <Text size="sm">
      Also: {also.join('; ')}. <TextButton onClick={() => change(withoutAlso(question))}>Leave this out</TextButton>
    </Text>
  );
}
