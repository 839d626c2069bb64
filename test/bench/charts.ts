/** Charts of 25 series of 30 points: the processor time and the bytes of their markup, numbers included. */
import { chartOf } from '../../lib/charts/describe/describe.ts';
import { figure } from '../../lib/charts/figure.ts';
import { waves } from '../support/charts.ts';
import { atMost, type Part } from './bench.ts';

const MOST_MS = 5;
const MOST_BYTES = 60_000;
const DISPLAYS = ['ActionsLineGraph', 'ActionsAreaGraph', 'ActionsStackedBar'];
/** Charts that are drawn before it is measured, and then. */
const WARM_UP = 50;
const SAMPLES = { small: 100, whole: 500 };

export const drawing: Part = async ({ small, say }) => {
  say('drawing charts');
  const results = waves(25, 30);
  return DISPLAYS.flatMap((display) => {
    const draw = (): string =>
      figure(chartOf({ kind: 'TrendsQuery', trendsFilter: { display } }, { results })).toString();
    for (let at = 0; at < WARM_UP; at += 1) draw();
    const samples = small ? SAMPLES.small : SAMPLES.whole;
    const began = process.threadCpuUsage();
    for (let at = 0; at < samples; at += 1) draw();
    const { user, system } = process.threadCpuUsage(began);
    const time = (user + system) / 1000 / samples;
    const bytes = Buffer.byteLength(draw());
    return [
      {
        what: `chart of 25 series of 30 points, ${display}`,
        measured: `${time.toFixed(2)} ms`,
        peer: `${MOST_MS} ms`,
        ratio: time / MOST_MS,
        goal: atMost(1, time / MOST_MS),
      },
      {
        what: `its markup, numbers included`,
        measured: `${(bytes / 1000).toFixed(1)} KB`,
        peer: `${MOST_BYTES / 1000} KB`,
        ratio: bytes / MOST_BYTES,
        goal: atMost(1, bytes / MOST_BYTES),
      },
    ];
  });
};
