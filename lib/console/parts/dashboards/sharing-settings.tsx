import { Button, Card, Code, Group, PasswordInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import type { Versioned } from '../../client/api.ts';
import { nextKey } from '../../client/property-filters.ts';
import {
  type Choice,
  type Sharing,
  type SharingValues,
  sentSharing,
  sharingAt,
  sharingValues,
  writeSharing,
} from '../../client/sharing.ts';
import { disputedFields } from '../conflict-notice.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { PropertyFilters } from '../property-filters.tsx';
import type { Needed } from '../scoped-button.tsx';
import { useVersionedWrite } from '../versioned-write.tsx';
import type { OfBoard } from './of-board.ts';

interface SharingSettingsProps extends OfBoard, Pick<Needed, 'lacks'> {
  readonly seen: Versioned<Sharing>;
}

/** Who opens the page with which password, until when, and what readers may choose. */
export function SharingSettings({ project, id, beside, lacks, seen }: SharingSettingsProps) {
  const { send, notice } = useVersionedWrite<Partial<SharingValues>, Sharing>({
    what: 'the page',
    at: sharingAt(project, id),
    write: (change, over) => beside(() => writeSharing(project, id, over, sentSharing(change))),
    disputed: ({ password: _password, ...change }, theirs) => {
      const { isOpen, ...sent } = change;
      return [
        ...disputedFields(sent, sharingValues(theirs)),
        ...(isOpen === true ? [{ field: 'password_required', theirs: theirs.password_required, mine: false }] : []),
      ];
    },
  });
  return (
    <>
      <FormDialog
        label="What readers may do"
        scope="sharing_configuration:write"
        lacks={lacks}
        dialogSize="xl"
        initial={sharingValues(seen.value)}
        seen={seen}
        fields={['password', 'expires_at']}
        does="Save"
        submit={(_, edited) => send(edited.changed, edited.seen)}
      >
        {(form, { value: kept }) => (
          <>
            <PasswordInput
              label="Password"
              description={
                kept.password_required
                  ? 'Readers are asked for one. Left empty: it stays.'
                  : 'Readers are asked for it. Left empty: the link is enough.'
              }
              autoComplete="new-password"
              disabled={form.values.isOpen}
              visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
              {...form.text('password')}
            />
            {kept.password_required && <Switch label="Ask for no password" {...form.tick('isOpen')} />}
            <TextInput
              label="Closes by itself"
              type="datetime-local"
              description="Left empty: never"
              {...form.text('expires_at')}
            />
            <Switch label="Readers may choose other dates" {...form.tick('allow_date_range')} />
            <Choices choices={form.values.filter_choices} change={(filter_choices) => form.set({ filter_choices })} />
          </>
        )}
      </FormDialog>
      {notice}
    </>
  );
}

/** The service takes so many. */
const MOST_CHOICES = 8;

interface ChoicesProps {
  readonly choices: readonly Choice[];
  readonly change: (choices: readonly Choice[]) => void;
}

/** Filters and breakdowns that readers choose by their names. */
function Choices({ choices, change }: ChoicesProps) {
  const set = (key: number, some: Partial<Choice>): void =>
    change(choices.map((one) => (one.key === key ? { ...one, ...some } : one)));
  const add = (): void => change([...choices, { key: nextKey(choices), name: '', filters: [], breakdown: '' }]);
  return (
    <Stack gap="xs" align="stretch" role="group" aria-label="Choices of readers">
      <Text size="sm">
        Readers may choose one of these filters. They see its name alone; an insight's own breakdown gives way to that
        of the choice.
      </Text>
      {choices.map(({ key, name, filters, breakdown, kept }, at) => (
        <Card key={key} withBorder role="group" aria-label={`Choice ${at + 1}`}>
          <Stack gap="xs">
            <Group align="end" gap="xs">
              <TextInput
                label="Name"
                required
                maxLength={60}
                value={name}
                onChange={(event) => set(key, { name: event.currentTarget.value })}
              />
              {kept === undefined && (
                <TextInput
                  label="Broken down by"
                  placeholder="a property"
                  value={breakdown}
                  onChange={(event) => set(key, { breakdown: event.currentTarget.value })}
                />
              )}
              <Button
                variant="default"
                aria-label={`Remove choice ${at + 1}`}
                onClick={() => change(choices.filter((one) => one.key !== key))}
              >
                Remove
              </Button>
            </Group>
            {kept === undefined ? (
              <PropertyFilters filters={filters} change={(next) => set(key, { filters: next })} />
            ) : (
              <>
                <Text size="sm">The form cannot say all of it. It is kept as it is.</Text>
                <Code block tabIndex={0}>
                  {JSON.stringify({ properties: kept.properties, breakdown_filter: kept.breakdown_filter }, null, 2)}
                </Code>
              </>
            )}
          </Stack>
        </Card>
      ))}
      {choices.length < MOST_CHOICES && (
        <Group>
          <Button size="xs" variant="default" onClick={add}>
            Add a choice
          </Button>
        </Group>
      )}
    </Stack>
  );
}
