import { Button, Group, Text } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { isEmptyChart } from '../../../charts/chart.ts';
import { chartOf } from '../../../charts/describe/describe.ts';
import type { Tile } from '../../client/dashboards.ts';
import { type BoardView, tileAnswer } from '../../client/insights.ts';
import { type DateRange, rangeText, useDataRange } from '../../client/ranges.ts';

interface DataRangeOfferProps {
  readonly board: BoardView;
  readonly tiles: readonly Tile[];
  readonly choose: (range: DateRange) => void;
}

/** Offers the days that have events, where no chart of a dashboard has a number but zero. */
export default function DataRangeOffer({ board, tiles, choose }: DataRangeOfferProps) {
  const insights = tiles.flatMap(({ insight }) => (insight?.query == null ? [] : [insight]));
  const answers = useQueries({ queries: insights.map((insight) => tileAnswer(board, insight)) });
  const isEmpty =
    insights.length > 0 &&
    answers.every(({ data }, at) => data !== undefined && isEmptyChart(chartOf(insights[at]?.query, data)));
  return isEmpty ? <Offer project={board.project} shown={board.range} choose={choose} /> : null;
}

interface OfferProps {
  readonly project: string;
  readonly shown: DateRange | undefined;
  readonly choose: (range: DateRange) => void;
}

function Offer({ project, shown, choose }: OfferProps) {
  const { data } = useDataRange(project);
  if (data == null || (data.date_from === shown?.date_from && data.date_to === shown.date_to)) return null;
  return (
    <Group gap="xs" role="status">
      <Text size="sm">Nothing happened then.</Text>
      <Button size="xs" variant="default" onClick={() => choose(data)}>
        Show {rangeText(data)}
      </Button>
    </Group>
  );
}
