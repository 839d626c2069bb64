import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core';
import type { NotificationData } from '@mantine/notifications';
import { Refusal } from '../client/api.ts';
import type { Asked } from '../client/paged.ts';
import { Loading } from './loading.tsx';

/** Returns what went wrong in a sentence. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Refusal)) return 'The service cannot be reached. What you did may not have happened.';
  return error.message === 'Not found.' ? 'It is not there, was deleted, or is not for you to see.' : error.message;
}

/** Returns what is wrong with a field, for the field, which may have several names; nested names end in the field's. */
export function faultOf(error: unknown, ...fields: readonly string[]): string | undefined {
  if (!(error instanceof Refusal)) return undefined;
  const attr = `__${error.attr ?? ''}`;
  return fields.some((field) => attr.endsWith(`__${field}`)) ? error.message : undefined;
}

interface ProblemProps {
  readonly error: unknown;
  /** Fields that show what is wrong with them by themselves. */
  readonly fields?: readonly string[];
  readonly retry?: () => void;
}

/** Shows what went wrong, unless a field does. */
export function Problem({ error, fields = [], retry }: ProblemProps) {
  if (error == null || faultOf(error, ...fields) !== undefined) return null;
  return (
    <Alert color="red" variant="outline" role="alert" title={titleOf(error)} my="sm">
      <Stack gap="xs" align="start">
        <Text size="sm">{sentenceOf(error)}</Text>
        {error instanceof Refusal && error.attr !== null && (
          <Text size="sm">
            Field: <Code>{error.attr}</Code>
          </Text>
        )}
        {retry !== undefined && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** Says of what is shown below that it is from before, and what the service has said when it was asked again. */
export function MayBeOld({ error, retry }: Pick<ProblemProps, 'error' | 'retry'>) {
  if (error == null) return null;
  return (
    <Group gap="xs" mb="xs" role="status">
      <Text size="sm">
        This may be old: it could not be read again. {error instanceof Refusal && sentenceOf(error)}
      </Text>
      <Button size="xs" variant="default" onClick={retry}>
        Try again
      </Button>
    </Group>
  );
}

export interface AwaitedProps {
  /** What is needed, and is not there. */
  readonly asked: Pick<Asked<unknown>, 'error' | 'refetch'>;
}

/** Shows that what was asked for is on its way, or why it is not there, beside a button that asks again. */
export function Awaited({ asked: { error, refetch } }: AwaitedProps) {
  return error === null ? <Loading /> : <Problem error={error} retry={() => void refetch()} />;
}

/** Shows why what was asked for is not there, beside a button that asks again; nothing while it is on its way. */
export function Missing({ asked: { data, error, refetch } }: { readonly asked: Asked<unknown> }) {
  return data === undefined && <Problem error={error} retry={() => void refetch()} />;
}

function titleOf(error: unknown): string {
  if (!(error instanceof Refusal)) return 'No answer';
  if (error.status === 403) return 'Not allowed';
  if (error.status === 404) return 'Not found';
  if (error.status === 412) return 'Somebody else has changed it';
  return 'That did not work';
}

/** Shows a notice; resolves to what takes it away. */
async function show(notice: NotificationData): Promise<() => void> {
  const { notifications } = await import('@mantine/notifications');
  const id = notifications.show({ closeButtonProps: { 'aria-label': 'Close' }, ...notice });
  return () => notifications.hide(id);
}

/** Says for a moment that something is done, or in another color what else there is to say. */
export const tell = (message: string, color = 'green'): void => void show({ message, color });

const UNDO_MS = 15_000;

/** Says for a while that something is done, beside a button that takes it back. */
export function tellUndoable(message: string, undo: () => Promise<unknown>): void {
  const take = async (): Promise<void> => {
    (await shown)();
    await undo().catch(tellProblem);
  };
  const said = (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {message}
      </Text>
      <Button size="compact-sm" variant="default" flex="none" onClick={() => void take()}>
        Undo
      </Button>
    </Group>
  );
  const shown = show({ message: said, color: 'green', autoClose: UNDO_MS });
}

/** Says for a while that something was refused, where no form can. */
export const tellProblem = (error: unknown): void =>
  void show({ title: titleOf(error), message: sentenceOf(error), color: 'red', autoClose: 10_000 });
