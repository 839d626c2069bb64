import { Skeleton } from '@mantine/core';
import { lazy } from 'react';
import { LoadedLater } from '../loaded-later.tsx';
import type { ChartProps } from './chart.tsx';

const Chart = lazy(() => import('./chart.tsx'));

/** A chart, whose code is loaded with the first one. */
export function LazyChart(props: ChartProps) {
  return (
    <LoadedLater shown={props.answer} fallback={<Skeleton height={200} />}>
      <Chart {...props} />
    </LoadedLater>
  );
}
