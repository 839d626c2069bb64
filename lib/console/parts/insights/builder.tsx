import { ActionIcon, Autocomplete, Button, CloseIcon, Group, Select, Stack, TextInput } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { useEventNames } from '../../client/events.ts';
import {
  anotherSeries,
  DISPLAYS,
  INTERVALS,
  KINDS,
  MATHS,
  OF_PROPERTY,
  type Question,
  type QuestionKind,
  RANGES,
  type Series,
} from '../../client/questions.ts';
import { Loading } from '../loading.tsx';
import { PropertyFilters } from '../property-filters.tsx';

const HogqlEditor = lazy(() => import('./hogql-editor.tsx'));

interface BuilderProps {
  readonly project: string;
  readonly question: Question;
  readonly change: (some: Partial<Question>) => void;
  readonly run: () => void;
  /** What is wrong with the query of HogQL. */
  readonly fault: string | undefined;
}

const WITH_SERIES: readonly QuestionKind[] = ['TrendsQuery', 'FunnelsQuery', 'StickinessQuery'];
const WITH_INTERVAL: readonly QuestionKind[] = ['TrendsQuery', 'StickinessQuery', 'LifecycleQuery'];
const WITH_BREAKDOWN: readonly QuestionKind[] = ['TrendsQuery', 'FunnelsQuery'];

/** Makes a question by choosing. */
export function Builder({ project, question, change, run, fault }: BuilderProps) {
  const { kind, series, filters } = question;
  const names = useEventNames(project).data?.results.map(({ name }) => name) ?? [];
  const setSeries = (key: number, some: Partial<Series>): void =>
    change({ series: series.map((one) => (one.key === key ? { ...one, ...some } : one)) });
  const isRetention = kind === 'RetentionQuery';
  const needed = isRetention ? 2 : 1;
  const shown = WITH_SERIES.includes(kind) ? series : series.slice(0, needed);
  const choose = (value: string | null): void => {
    const next = (value ?? 'TrendsQuery') as QuestionKind;
    const steps = next === 'FunnelsQuery' || next === 'RetentionQuery' ? 2 : 1;
    const added = series.length < steps ? [anotherSeries(series)] : [];
    change({ kind: next, series: [...series, ...added] });
  };
  return (
    <Stack>
      <Select
        label="Question"
        data={KINDS.map(({ value, label, about }) => ({ value, label: `${label}: ${about}` }))}
        value={kind}
        allowDeselect={false}
        onChange={choose}
      />
      {kind === 'HogQLQuery' ? (
        <Suspense fallback={<Loading />}>
          <HogqlEditor value={question.hogql} change={(hogql) => change({ hogql })} run={run} error={fault} />
        </Suspense>
      ) : (
        <>
          {shown.map((one, at) => (
            <Group key={one.key} align="end" gap="xs">
              <Autocomplete
                label={seriesLabel(kind, at)}
                placeholder="all events"
                data={names}
                value={one.event}
                onChange={(event) => setSeries(one.key, { event })}
              />
              {(kind === 'TrendsQuery' || kind === 'StickinessQuery') && (
                <Select
                  label={`Counted ${at + 1}`}
                  data={MATHS.map(({ value, label }) => ({ value, label }))}
                  value={one.math}
                  allowDeselect={false}
                  onChange={(math) => setSeries(one.key, { math: math ?? 'total' })}
                />
              )}
              {OF_PROPERTY.includes(one.math) && kind === 'TrendsQuery' && (
                <TextInput
                  label={`Of property ${at + 1}`}
                  value={one.property}
                  onChange={(event) => setSeries(one.key, { property: event.currentTarget.value })}
                />
              )}
              {shown.length > (kind === 'FunnelsQuery' ? 2 : needed) && (
                <ActionIcon
                  variant="default"
                  size="lg"
                  aria-label={`Remove ${seriesLabel(kind, at)}`}
                  onClick={() => change({ series: series.filter(({ key }) => key !== one.key) })}
                >
                  <CloseIcon size="1rem" />
                </ActionIcon>
              )}
            </Group>
          ))}
          {WITH_SERIES.includes(kind) && (
            <Group>
              <Button
                size="xs"
                variant="default"
                onClick={() => change({ series: [...series, anotherSeries(series)] })}
              >
                {kind === 'FunnelsQuery' ? 'Add a step' : 'Add a series'}
              </Button>
            </Group>
          )}
          <PropertyFilters filters={filters} change={(next) => change({ filters: next })} />
          <Group align="end" gap="xs">
            <Select
              label="When"
              data={RANGES.map(({ value, label }) => ({ value, label }))}
              value={question.range}
              allowDeselect={false}
              onChange={(range) => change({ range: range ?? '-7d' })}
            />
            {WITH_INTERVAL.includes(kind) && (
              <Select
                label="By"
                data={[...INTERVALS]}
                value={question.interval}
                allowDeselect={false}
                onChange={(interval) => change({ interval: interval ?? 'day' })}
              />
            )}
            {kind === 'TrendsQuery' && (
              <Select
                label="Shown as"
                data={DISPLAYS.map(({ value, label }) => ({ value, label }))}
                value={question.display}
                allowDeselect={false}
                onChange={(display) => change({ display: display ?? 'ActionsLineGraph' })}
              />
            )}
            {WITH_BREAKDOWN.includes(kind) && (
              <TextInput
                label="Broken down by"
                placeholder="a property"
                value={question.breakdown}
                onChange={(event) => change({ breakdown: event.currentTarget.value })}
              />
            )}
          </Group>
        </>
      )}
    </Stack>
  );
}

function seriesLabel(kind: QuestionKind, at: number): string {
  if (kind === 'FunnelsQuery') return `Step ${at + 1}`;
  if (kind === 'RetentionQuery') return at === 0 ? 'Who did' : 'Came back and did';
  if (kind === 'PathsQuery') return 'Beginning at';
  return `Event ${at + 1}`;
}
