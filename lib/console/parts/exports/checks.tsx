import { CheckIcon, CloseIcon, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Schemas } from '../../client/api.ts';
import { Loading } from '../loading.tsx';
import { ScopedButton } from '../scoped-button.tsx';

type Step = Schemas['DestinationTestStep'];

interface ChecksProps {
  /** The steps of the destination's test, none of which was run. */
  readonly steps: readonly Step[];
  /** The fields that are checked: what was found of others is not shown. */
  readonly of: object;
  /** Runs the step with this number, from 0. */
  readonly run: (step: number) => Promise<Step>;
  /** Does what may be refused, and shows why. */
  readonly attempt: (act: () => Promise<unknown>) => Promise<void>;
}

/** Tries a destination, one step after another; those after one that failed would say nothing new. */
export function Checks({ steps, of, run, attempt }: ChecksProps) {
  const [done, setDone] = useState<readonly Step[]>([]);
  const [checked, setChecked] = useState(of);
  const [running, setRunning] = useState<number | null>(null);
  const check = async (): Promise<void> => {
    setDone(steps);
    setChecked(of);
    await attempt(async () => {
      for (const step of steps.keys()) {
        setRunning(step);
        const tried = await run(step);
        setDone((all) => all.map((one, at) => (at === step ? tried : one)));
        if (tried.result?.status === 'Failed') break;
      }
    });
    setRunning(null);
  };
  return (
    <>
      <Group mt="md">
        <ScopedButton
          scope="batch_export:write"
          variant="default"
          loading={running !== null}
          onClick={() => void check()}
        >
          Check the destination
        </ScopedButton>
      </Group>
      {done.length > 0 && checked === of && (
        <Stack gap="xs" mt="md" role="list" aria-label="Checks" aria-live="polite">
          {done.map((step, at) => (
            <Check key={step.name} step={step} isRunning={running === at} />
          ))}
        </Stack>
      )}
    </>
  );
}

const SIGNS = { Passed: <CheckIcon size="0.75rem" />, Failed: <CloseIcon size="0.75rem" />, Skipped: '–' } as const;

function Check({ step: { name, result }, isRunning }: { readonly step: Step; readonly isRunning: boolean }) {
  return (
    <Group gap="xs" wrap="nowrap" align="start" role="listitem">
      {isRunning ? (
        <Loading size="xs" label="Running" />
      ) : (
        <Text span w={18} ta="center" aria-label={result?.status ?? 'Not run'}>
          {result === null ? '·' : SIGNS[result.status]}
        </Text>
      )}
      <div>
        <Text size="sm">{name}</Text>
        {result?.message != null && (
          <Text size="sm" c={result.status === 'Failed' ? 'var(--mantine-color-error)' : 'dimmed'}>
            {result.message}
          </Text>
        )}
      </div>
    </Group>
  );
}
