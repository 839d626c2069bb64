import { ActionIcon, Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { BARE, type Filter, OPERATORS } from '../client/property-filters.ts';

interface PropertyFiltersProps {
  readonly filters: readonly Filter[];
  readonly change: (filters: readonly Filter[]) => void;
}

/** Conditions on properties, all of which must hold. */
export function PropertyFilters({ filters, change }: PropertyFiltersProps) {
  const set = (key: number, some: Partial<Filter>): void =>
    change(filters.map((one) => (one.key === key ? { ...one, ...some } : one)));
  const add = (): void => {
    const key = 1 + Math.max(-1, ...filters.map((one) => one.key));
    change([...filters, { key, property: '', operator: 'exact', value: '' }]);
  };
  return (
    <Stack gap="xs" align="start">
      {filters.map((one, at) => (
        <Group key={one.key} align="end" gap="xs">
          <TextInput
            label={`Property ${at + 1}`}
            value={one.property}
            onChange={(event) => set(one.key, { property: event.currentTarget.value })}
          />
          <Select
            label={`Comparison ${at + 1}`}
            data={OPERATORS.map(({ value, label }) => ({ value, label }))}
            value={one.operator}
            allowDeselect={false}
            onChange={(operator) => set(one.key, { operator: operator ?? 'exact' })}
          />
          {!BARE.includes(one.operator) && (
            <TextInput
              label={`Value ${at + 1}`}
              value={one.value}
              onChange={(event) => set(one.key, { value: event.currentTarget.value })}
            />
          )}
          <ActionIcon
            variant="default"
            size="lg"
            aria-label={`Remove filter ${at + 1}`}
            onClick={() => change(filters.filter(({ key }) => key !== one.key))}
          >
            ✕
          </ActionIcon>
        </Group>
      ))}
      <Button size="xs" variant="default" onClick={add}>
        Add a filter
      </Button>
    </Stack>
  );
}
