import { ActionIcon, Group, Text, VisuallyHidden } from '@mantine/core';
import type { Answered } from '../../../charts/describe/describer.ts';
import { useSubmission } from '../form.ts';
import { Instant } from '../instant.tsx';
import { LineIcon } from '../line-icon.tsx';

interface ComputedProps {
  readonly answer: Answered;
  readonly ask: () => Promise<unknown>;
  /** Whether there is little room; who sees when it was hears that it was computed then. */
  readonly isShort?: boolean;
}

/** Says how old an answer is, beside a button that asks for one that is true now. */
export function Computed({ answer: { computedAt }, ask, isShort = false }: ComputedProps) {
  const { isBusy, attempt } = useSubmission();
  if (computedAt == null) return null;
  const words = 'Computed ';
  return (
    <Group gap={4} mt={isShort ? 0 : 'xs'} wrap="nowrap" flex="none">
      <Text size="xs" c="dimmed">
        {isBusy ? (
          'Asking…'
        ) : (
          <>
            {isShort ? <VisuallyHidden component="span">{words}</VisuallyHidden> : words}
            <Instant at={computedAt} size="xs" />
          </>
        )}
      </Text>
      {/* A button that is disabled while it asks would lose the focus. */}
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label="Ask again"
        title="Ask again"
        aria-busy={isBusy}
        onClick={() => isBusy || void attempt(ask)}
      >
        <LineIcon path="M13 8a5 5 0 1 1-1.5-3.6L13.5 6M13.5 2v4h-4" />
      </ActionIcon>
    </Group>
  );
}
