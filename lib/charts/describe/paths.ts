/** Paths as flows from step to step. */

import { duration } from '../numbers.ts';
import { counted, type Describer, NO_DATA, nothing } from './describer.ts';
import { number, objects, text } from './read.ts';

const MAX_LINKS = 50;

export const describePaths: Describer = (_query, { results }) => {
  const rows = objects(results).flatMap((row) => {
    const [source, target, value] = [text(row['source']), text(row['target']), number(row['value'])];
    if (source === null || target === null || value === null || value <= 0) return [];
    return [{ source, target, value, time: number(row['average_conversion_time']) }];
  });
  if (rows.length === 0) return nothing(NO_DATA);
  const sorted = rows.toSorted((a, b) => b.value - a.value);
  return {
    picture: {
      type: 'flow',
      links: sorted.slice(0, MAX_LINKS).map(({ source, target, value }) => ({ source, target, value })),
    },
    table: {
      columns: ['From', 'To', 'Persons', 'Average time'],
      rows: sorted.map(({ source, target, value, time }) => [
        placeName(source),
        placeName(target),
        value,
        time === null ? null : duration(time / 1000),
      ]),
    },
    summary: `Paths of ${counted(rows.length, 'step', 'steps')} from one place to the next.`,
    note: rows.length <= MAX_LINKS ? null : `The picture shows the ${MAX_LINKS} most frequent steps of ${rows.length}.`,
  };
};

/** Returns the name of a place without the number of its step: `1_/pricing` is `/pricing`. */
export const placeName = (key: string): string => key.replace(/^\d+_/, '') || 'No value';

/** Returns the number of the step of a place, from 1. */
export const placeStep = (key: string): number => Number(/^(\d+)_/.exec(key)?.[1] ?? 1);
