import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useSubmission } from './form.ts';
import { Problem } from './problem.tsx';

/** A field of an object in two versions. */
export interface Disputed {
  readonly field: string;
  readonly theirs: unknown;
  readonly mine: unknown;
}

/** Returns the fields of a change in both versions. */
export const disputedFields = <Field extends string>(
  change: Readonly<Partial<Record<Field, unknown>>>,
  theirs: Readonly<Record<Field, unknown>>,
): Disputed[] =>
  (Object.keys(change) as Field[])
    .filter((field) => change[field] !== undefined)
    .map((field) => ({ field, theirs: theirs[field], mine: change[field] }));

interface ConflictNoticeProps {
  /** What was changed, such as `the dashboard`. */
  readonly what: string;
  readonly disputed: readonly Disputed[];
  readonly keep: () => void;
  /** What it is refused for is said beside both versions. */
  readonly replace: () => Promise<unknown>;
}

/** Both versions, where somebody else has changed something meanwhile. Only what is chosen takes it away: else what was written is lost. */
export function ConflictNotice({ what, disputed, keep, replace }: ConflictNoticeProps) {
  const { isBusy, error, forget, attempt } = useSubmission();
  const giveUp = (): void => {
    forget();
    keep();
  };
  return (
    <Modal
      opened
      onClose={() => undefined}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      title="Somebody else has changed it"
      size="lg"
    >
      <Stack>
        <Alert color="orange" variant="outline">
          Your change was not written, because {what} has changed since you opened it.
        </Alert>
        {disputed.map(({ field, theirs, mine }) => (
          <Group key={field} grow align="start">
            <Version name={`${field}, as it is now`} value={theirs} />
            <Version name={`${field}, as you wanted it`} value={mine} />
          </Group>
        ))}
        <Problem error={error} />
        <Group justify="end">
          <Button variant="default" disabled={isBusy} onClick={giveUp}>
            Keep theirs
          </Button>
          <Button loading={isBusy} onClick={() => void attempt(replace)}>
            Write mine
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Version({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {typeof value === 'string' ? value : JSON.stringify(value)}
      </Text>
    </div>
  );
}
