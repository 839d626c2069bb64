import { ActionIcon, Button, CloseIcon, Group, Select, Stack, TextInput } from '@mantine/core';
import { anotherFilter, BARE, type Filter, OPERATORS, PROPERTY_TYPES } from '../client/property-filters.ts';
import { PropertyName, PropertyValue } from './property-name.tsx';

interface PropertyFiltersProps {
  readonly filters: readonly Filter[];
  readonly change: (filters: readonly Filter[]) => void;
}

/** Conditions on properties, all of which must hold. */
export function PropertyFilters({ filters, change }: PropertyFiltersProps) {
  const set = (key: number, some: Partial<Filter>): void =>
    change(filters.map((one) => (one.key === key ? { ...one, ...some } : one)));
  return (
    <Stack gap="xs" align="stretch">
      {filters.map(({ key, type, property, operator, value }, at) => (
        <Group key={key} align="end" gap="xs">
          <Select
            label={`Filter ${at + 1} by`}
            w="6.5rem"
            data={PROPERTY_TYPES}
            value={type}
            allowDeselect={false}
            onChange={(next) => set(key, { type: next ?? 'event' })}
          />
          {type === 'hogql' ? (
            <TextInput
              label={`Condition ${at + 1}`}
              placeholder="event = 'paid' OR properties.plan = 'pro'"
              flex={1}
              miw="12rem"
              value={property}
              onChange={(event) => set(key, { property: event.currentTarget.value })}
            />
          ) : (
            <>
              <PropertyName
                label={`Property ${at + 1}`}
                type={type}
                value={property}
                change={(name) => set(key, { property: name })}
              />
              <Select
                label={`Comparison ${at + 1}`}
                data={OPERATORS}
                value={operator}
                allowDeselect={false}
                onChange={(next) => set(key, { operator: next ?? 'exact' })}
              />
              {!BARE.includes(operator) && (
                <PropertyValue
                  label={`Value ${at + 1}`}
                  type={type}
                  property={property}
                  value={value}
                  change={(next) => set(key, { value: next })}
                />
              )}
            </>
          )}
          <ActionIcon
            variant="default"
            size="lg"
            aria-label={`Remove filter ${at + 1}`}
            onClick={() => change(filters.filter((one) => one.key !== key))}
          >
            <CloseIcon size="1rem" />
          </ActionIcon>
        </Group>
      ))}
      <Group>
        <Button size="xs" variant="default" onClick={() => change([...filters, anotherFilter(filters)])}>
          Add a filter
        </Button>
      </Group>
    </Stack>
  );
}
