import { Button, Group, Text } from '@mantine/core';
import type { Answered } from '../../client/answers.ts';
import { Instant } from '../instant.tsx';

interface ComputedProps {
  readonly answer: Answered;
  readonly isAsking: boolean;
  readonly ask: () => void;
}

/** Says how old an answer is, beside a button that asks for one that is true now. */
export function Computed({ answer: { computedAt }, isAsking, ask }: ComputedProps) {
  return (
    computedAt !== null && (
      <Group gap="xs" mt="xs">
        <Text size="xs" c="dimmed">
          Computed <Instant at={computedAt} size="xs" />
        </Text>
        <Button size="compact-xs" variant="subtle" color="gray" loading={isAsking} onClick={ask}>
          Ask again
        </Button>
      </Group>
    )
  );
}
