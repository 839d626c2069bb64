import { isEmptyChart } from '../../../charts/chart.ts';
import { chartOf } from '../../../charts/describe/describe.ts';
import type { Answered } from '../../client/answers.ts';
import type { DateRange } from '../../client/ranges.ts';
import { RangeOffer } from '../range-offer.tsx';

interface DataRangeOfferProps {
  readonly project: string;
  readonly query: unknown;
  readonly answer: Answered;
  readonly shown: DateRange;
  readonly choose: (range: DateRange) => void;
}

/** Offers the days that have events, where the chart of an answer has no number but zero. */
export default function DataRangeOffer({ query, answer, ...offer }: DataRangeOfferProps) {
  const chart = chartOf(query, answer);
  // Where nothing is drawn, words stand in the place of the picture.
  return isEmptyChart(chart) ? <RangeOffer {...offer} isSaid={chart.picture.type === 'none'} /> : null;
}
