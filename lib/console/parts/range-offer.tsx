import { Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type Sought, type Whereabouts, whereabouts } from '../client/data-range.ts';
import { type DateRange, rangeText } from '../client/ranges.ts';
import { ToButton } from './to.tsx';

interface RangeOfferProps extends Sought {
  readonly project: string;
  readonly choose: (range: DateRange) => void;
  /** Whether there is nothing to be seen is said already. */
  readonly isSaid?: boolean;
}

/**
 * Offers days that have events of those that were asked for, where the dates that are shown have none; where there is no
 * such event at all, those that there are; where there is none, how one is sent.
 */
export function RangeOffer({ project, choose, isSaid = false, ...sought }: RangeOfferProps) {
  const { data } = useQuery(whereabouts(project, sought));
  if (data === undefined || data.is === 'here') return null;
  // What is drawn as nothing says no more than that.
  const isTold = isSaid && (data.is === 'elsewhere' || data.is === 'no events');
  return (
    <Group gap="xs" role="status">
      {!isTold && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {sentenceOf(data, sought)}
        </Text>
      )}
      {data.is === 'no events' && (
        <ToButton to={`/projects/${project}/home`} variant="default" size="xs">
          Send your first event
        </ToButton>
      )}
      {data.is === 'none named so' && (
        <ToButton to={`/projects/${project}/events`} variant="default" size="xs">
          See the events that have
        </ToButton>
      )}
      {data.is === 'elsewhere' && (
        <Button size="xs" variant="default" onClick={() => choose(data.range)}>
          Show {rangeText(data.range)}
        </Button>
      )}
    </Group>
  );
}

const either = new Intl.ListFormat('en', { type: 'disjunction' });

function sentenceOf({ is }: Whereabouts, { events }: Sought): string {
  if (is === 'no events') return 'There are no events yet.';
  if (is === 'none named so') return `No event named ${either.format(events)} has arrived.`;
  return is === 'none that passes' ? 'No event passes the filters.' : 'Nothing happened then.';
}
