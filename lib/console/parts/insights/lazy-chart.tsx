import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { Answered } from '../../client/answers.ts';

const Chart = lazy(() => import('./chart.tsx'));

/** A chart, whose code is loaded with the first one. */
export function LazyChart(props: { readonly query: unknown; readonly answer: Answered }) {
  return (
    <Suspense fallback={<Skeleton height={200} />}>
      <Chart {...props} />
    </Suspense>
  );
}
