import { useQueries } from '@tanstack/react-query';
import { isEmptyChart } from '../../../charts/chart.ts';
import { chartOf } from '../../../charts/describe/describe.ts';
import type { Tile } from '../../client/dashboards.ts';
import { type BoardView, tileAnswer } from '../../client/insights.ts';
import type { DateRange } from '../../client/ranges.ts';
import { RangeOffer } from '../range-offer.tsx';

interface DataRangeOfferProps {
  readonly board: BoardView;
  /** The dates that are shown; undefined: those of each chart. */
  readonly shown: DateRange | undefined;
  readonly tiles: readonly Tile[];
  readonly choose: (range: DateRange) => void;
}

/** Offers the days that have events, where no chart of a dashboard has a number but zero. */
export default function DataRangeOffer({ board, shown, tiles, choose }: DataRangeOfferProps) {
  const insights = tiles.flatMap(({ insight }) => (insight?.query == null ? [] : [insight]));
  // The charts ask, in the order in which they stand.
  const answers = useQueries({
    queries: insights.map((insight) => ({ ...tileAnswer(board, insight), enabled: false })),
  });
  const isEmpty =
    insights.length > 0 &&
    answers.every(({ data }, at) => data !== undefined && isEmptyChart(chartOf(insights[at]?.query, data)));
  return isEmpty ? (
    <RangeOffer project={board.project} shown={shown} events={[]} properties={[]} choose={choose} />
  ) : null;
}
