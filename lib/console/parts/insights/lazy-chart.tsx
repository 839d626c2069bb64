import { Skeleton } from '@mantine/core';
import { lazy } from 'react';
import type { Answered } from '../../client/answers.ts';
import { LoadedLater } from '../loaded-later.tsx';

const Chart = lazy(() => import('./chart.tsx'));

/** A chart, whose code is loaded with the first one. */
export function LazyChart(props: { readonly query: unknown; readonly answer: Answered }) {
  return (
    <LoadedLater shown={props.answer} fallback={<Skeleton height={200} />}>
      <Chart {...props} />
    </LoadedLater>
  );
}
