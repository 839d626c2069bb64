import { Group, TextInput } from '@mantine/core';
import { type DateRange, daysOf } from '../client/ranges.ts';
import { FormDialog } from './form-dialog.tsx';

interface DaysProps {
  readonly scope: string;
  readonly range: DateRange;
  /** What the button says that chooses them. */
  readonly does: string;
  readonly choose: (range: DateRange) => void;
}

/** Is the last day before the first? */
const isTurned = ({ from, to }: ReturnType<typeof daysOf>): boolean => to !== '' && to < from;

/** Chooses a first and a last day. */
export function Days({ scope, range, does, choose }: DaysProps) {
  return (
    <FormDialog
      label="Other days"
      scope={scope}
      initial={daysOf(range)}
      does={does}
      isReady={(days) => days.from !== '' && !isTurned(days)}
      submit={async ({ from, to }) => choose({ date_from: from, date_to: to === '' ? null : to })}
    >
      {(form) => (
        <Group grow align="start">
          <TextInput label="From" type="date" required data-autofocus {...form.text('from')} />
          <TextInput
            label="To"
            type="date"
            description="With this day. Left empty: until now"
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            {...form.text('to')}
            error={isTurned(form.values) && 'It is before the first day.'}
          />
        </Group>
      )}
    </FormDialog>
  );
}
