/** Funnels as steps, over time, and by the time they take. */
import type { Chart, FunnelGroup } from '../chart.ts';
import { duration, PERCENT, PLAIN } from '../numbers.ts';
import { type Answered, counted, type Describer, NO_DATA, noteOf, nothing } from './describer.ts';
import { breakdownName, type Json, list, number, object, objects, text } from './read.ts';
import { seriesChart } from './series.ts';
import { pointsChart, unfinishedIn } from './trends.ts';

export const describeFunnels: Describer = (query, answered) => {
  const { results } = answered;
  const form = text(object(query['funnelsFilter'])['funnelVizType']);
  if (form === 'trends') return trendsOf(query, answered);
  return form === 'time_to_convert' ? timesOf(object(results)) : stepsOf(list(results));
};

/** A funnel shows so many breakdown values. */
const MAX_GROUPS = 10;

function stepsOf(results: readonly unknown[]): Chart {
  const lists = results.some((one) => Array.isArray(one)) ? results.map(objects) : [objects(results)];
  const groups = lists.filter((steps) => steps.length > 0).map(groupOf);
  const [first] = groups;
  if (first === undefined || groups.every(({ steps }) => (steps[0]?.count ?? 0) === 0)) return nothing(NO_DATA);
  const last = first.steps.at(-1);
  const of = groups.length > 1 ? ` by ${counted(groups.length, 'value', 'values')}; of ${first.name},` : ';';
  return {
    picture: { type: 'funnel', groups: groups.slice(0, MAX_GROUPS) },
    table: {
      columns: [
        'Breakdown',
        'Step',
        'Persons',
        'Percent of the first step',
        'Percent of the step before',
        'Median seconds',
      ],
      rows: groups.flatMap(({ name, steps }) =>
        steps.map((step) => [
          name,
          step.name,
          step.count,
          percent(step.share),
          step.shareOfPrevious === null ? null : percent(step.shareOfPrevious),
          step.medianTime,
        ]),
      ),
    },
    summary: `Funnel of ${counted(first.steps.length, 'step', 'steps')}${of} ${percent(last?.share ?? 0)}% reach the last one.`,
    note: noteOf(groups.length, MAX_GROUPS, 'value', 'values'),
  };
}

const percent = (share: number): number => Math.round(share * 10_000) / 100;

function groupOf(steps: readonly Json[]): FunnelGroup {
  const entered = number(steps[0]?.['count']) ?? 0;
  return {
    name: steps[0]?.['breakdown_value'] === undefined ? null : breakdownName(steps[0]['breakdown_value']),
    steps: steps.map((step, at) => {
      const count = number(step['count']) ?? 0;
      const before = at === 0 ? null : (number(steps[at - 1]?.['count']) ?? 0);
      return {
        name: text(step['custom_name']) ?? text(step['name']) ?? `Step ${at + 1}`,
        count,
        share: entered === 0 ? 0 : count / entered,
        shareOfPrevious: before === null || before === 0 ? null : count / before,
        medianTime: number(step['median_conversion_time']),
      };
    }),
  };
}

function trendsOf(query: Json, answered: Answered): Chart {
  const named = objects(answered.results).map((row) => ({
    ...row,
    label: breakdownName(row['breakdown_value']) ?? 'Conversion',
    action: null,
  }));
  return pointsChart(named, 'lines', 'Date', PERCENT, unfinishedIn(query, named, answered));
}

function timesOf(results: Json): Chart {
  const bins = list(results['bins']).map((bin) => [number(list(bin)[0]) ?? 0, number(list(bin)[1]) ?? 0] as const);
  if (bins.every(([, count]) => count === 0)) return nothing(NO_DATA);
  const average = number(results['average_conversion_time']);
  const chart = seriesChart({
    form: 'grouped',
    pointName: 'Time from',
    points: bins.map(([seconds]) => duration(seconds)),
    series: [{ name: 'Persons', values: bins.map(([, count]) => count), isPrevious: false }],
    format: PLAIN,
  });
  return average === null ? chart : { ...chart, note: `Average time: ${duration(average)}.` };
}
