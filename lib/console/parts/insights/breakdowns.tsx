import { ActionIcon, Button, CloseIcon, Group, Select, Stack, TextInput } from '@mantine/core';
import { PROPERTY_TYPES } from '../../client/property-filters.ts';
import { anotherBreakdown, type Breakdown, MOST_BREAKDOWNS } from '../../client/questions.ts';
import { PropertyName } from '../property-name.tsx';

interface BreakdownsProps {
  readonly all: readonly Breakdown[];
  readonly change: (all: readonly Breakdown[]) => void;
}

/** What numbers are told apart by. */
export function Breakdowns({ all, change }: BreakdownsProps) {
  const set = (key: number, some: Partial<Breakdown>): void =>
    change(all.map((one) => (one.key === key ? { ...one, ...some } : one)));
  return (
    <Stack gap="xs">
      {all.map(({ key, type, property }, at) => (
        <Group key={key} align="end" gap="xs">
          <Select
            label={`Breakdown ${at + 1} by`}
            w="8rem"
            data={PROPERTY_TYPES}
            value={type}
            allowDeselect={false}
            onChange={(next) => set(key, { type: next ?? 'event' })}
          />
          {type === 'hogql' ? (
            <TextInput
              label={`Expression of breakdown ${at + 1}`}
              placeholder="lower(properties.plan)"
              value={property}
              onChange={(event) => set(key, { property: event.currentTarget.value })}
            />
          ) : (
            <PropertyName
              label={`Property of breakdown ${at + 1}`}
              type={type}
              value={property}
              change={(name) => set(key, { property: name })}
            />
          )}
          <ActionIcon
            variant="default"
            size="lg"
            aria-label={`Remove breakdown ${at + 1}`}
            onClick={() => change(all.filter((one) => one.key !== key))}
          >
            <CloseIcon size="1rem" />
          </ActionIcon>
        </Group>
      ))}
      {all.length < MOST_BREAKDOWNS && (
        <Group>
          <Button size="xs" variant="default" onClick={() => change([...all, anotherBreakdown(all)])}>
            Add a breakdown
          </Button>
        </Group>
      )}
    </Stack>
  );
}
