import { Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { dataRange } from '../client/data-range.ts';
import { type DateRange, rangeText } from '../client/ranges.ts';
import { ToButton } from './to.tsx';

interface RangeOfferProps {
  readonly project: string;
  /** The dates that are shown. */
  readonly shown: DateRange | undefined;
  readonly choose: (range: DateRange) => void;
  /** Whether there is nothing to be seen is said already. */
  readonly isSaid?: boolean;
}

/** Offers days that have events, where those that are shown have none; where there is no event, how one is sent. */
export function RangeOffer({ project, shown, choose, isSaid = false }: RangeOfferProps) {
  const { data } = useQuery(dataRange(project, shown));
  if (data === undefined) return null;
  const isShown = data !== null && data.date_from === shown?.date_from && data.date_to === shown.date_to;
  return (
    <Group gap="xs" role="status">
      {!isSaid && <Text size="sm">{data === null ? 'There are no events yet.' : 'Nothing happened then.'}</Text>}
      {data === null && (
        <ToButton to={`/projects/${project}/home`} variant="default" size="xs">
          Send your first event
        </ToButton>
      )}
      {data !== null && !isShown && (
        <Button size="xs" variant="default" onClick={() => choose(data)}>
          Show {rangeText(data)}
        </Button>
      )}
    </Group>
  );
}
