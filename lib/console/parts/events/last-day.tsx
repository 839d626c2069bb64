import { Group, Text } from '@mantine/core';
import { counted } from '../../../basics/text.ts';
import { useHourlyArrivals } from '../../client/events.ts';

const HEIGHT = 32;
const WIDTH = 8;
const GAP = 2;

interface LastDayProps {
  readonly project: string;
}

/** How many events have come in the last day, hour by hour; nothing where none has, or where nobody may know. */
export function LastDay({ project }: LastDayProps) {
  const hours = useHourlyArrivals(project).data ?? [];
  const total = hours.reduce((sum, one) => sum + one, 0);
  if (total === 0) return null;
  const most = Math.max(...hours);
  const said = `${counted(total, 'event')} in the last 24 hours`;
  return (
    <Group gap="sm" align="end">
      <svg
        role="img"
        aria-label={`${said}, at most ${most.toLocaleString('en')} in an hour`}
        width={hours.length * (WIDTH + GAP) - GAP}
        height={HEIGHT}
        fill="var(--mantine-primary-color-filled)"
      >
        {hours.map((count, hour) => {
          // An hour with one event among thousands is seen, too.
          const height = count === 0 ? 1 : Math.max(2, (count / most) * HEIGHT);
          return <rect key={hour} x={hour * (WIDTH + GAP)} y={HEIGHT - height} width={WIDTH} height={height} />;
        })}
      </svg>
      <Text size="sm">{said}</Text>
    </Group>
  );
}
