import { isEmptyChart } from '../../../charts/chart.ts';
import { chartOf } from '../../../charts/describe/describe.ts';
import type { Answered } from '../../../charts/describe/describer.ts';
import { sentFilters } from '../../client/property-filters.ts';
import { eventsOf, type Question } from '../../client/questions.ts';
import type { DateRange } from '../../client/ranges.ts';
import { RangeOffer } from '../range-offer.tsx';

interface DataRangeOfferProps {
  readonly project: string;
  readonly question: Question;
  readonly query: unknown;
  readonly answer: Answered;
  readonly choose: (range: DateRange) => void;
}

/** Offers the days that have events of a question, where the chart of its answer has no number but zero. */
export default function DataRangeOffer({ project, question, query, answer, choose }: DataRangeOfferProps) {
  const chart = chartOf(query, answer);
  if (!isEmptyChart(chart)) return null;
  return (
    <RangeOffer
      project={project}
      shown={question.range.date_from === null ? undefined : question.range}
      events={eventsOf(question)}
      properties={sentFilters(question.filters)}
      choose={choose}
      // Where nothing is drawn, words stand in the place of the picture.
      isSaid={chart.picture.type === 'none'}
    />
  );
}
