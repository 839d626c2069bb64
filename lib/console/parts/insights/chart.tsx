import { useComputedColorScheme } from '@mantine/core';
import { getNonce } from 'get-nonce';
import { useLayoutEffect, useMemo, useRef } from 'react';
import { chartOf } from '../../../charts/describe/describe.ts';
import type { Answered } from '../../../charts/describe/describer.ts';
import { figure } from '../../../charts/figure.ts';
import { CHART_STYLE } from '../../../charts/style.ts';

export interface ChartProps {
  readonly query: unknown;
  readonly answer: Answered;
  /** How many pixels it may be high; undefined: as many as it needs. */
  readonly room?: number;
}

const PLACE = `.chart { --tile: var(--mantine-color-body); --text: var(--mantine-color-text);
  --soft: var(--mantine-color-dimmed); --line: var(--mantine-color-default-border); }`;

const DARK = '@media screen and (prefers-color-scheme: dark)';

/** The picture of an answer, with its numbers. Names in it are escaped by who draws it. */
export default function Chart({ query, answer, room }: ChartProps) {
  const scheme = useComputedColorScheme('light');
  const markup = useMemo(() => figure(chartOf(query, answer), room).toString(), [query, answer, room]);
  const place = useRef<HTMLDivElement>(null);
  const isUnfolded = useRef<boolean | null>(null);
  // Numbers that somebody has unfolded stay so when another answer comes.
  useLayoutEffect(() => {
    const details = place.current?.querySelector('details');
    if (details == null) return undefined;
    if (isUnfolded.current !== null) details.open = isUnfolded.current;
    return () => {
      isUnfolded.current = details.open;
    };
  }, [markup]);
  // The reader's choice of colours is not always the system's.
  const style = CHART_STYLE.replaceAll(DARK, scheme === 'dark' ? '@media screen' : '@media not all');
  return (
    <>
      <style nonce={getNonce()}>{`${style}${PLACE}`}</style>
      <div ref={place} dangerouslySetInnerHTML={{ __html: markup }} />
    </>
  );
}
