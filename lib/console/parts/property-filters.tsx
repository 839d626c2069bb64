import { Select, TextInput } from '@mantine/core';
import { anotherFilter, BARE, type Filter, OPERATORS } from '../client/property-filters.ts';
import { PropertyName, PropertyValue } from './property-name.tsx';
import { PropertyRows } from './property-rows.tsx';

interface PropertyFiltersProps {
  readonly filters: readonly Filter[];
  readonly change: (filters: readonly Filter[]) => void;
}

/** Conditions on properties, all of which must hold. */
export function PropertyFilters({ filters, change }: PropertyFiltersProps) {
  return (
    <PropertyRows what="filter" all={filters} change={change} another={() => anotherFilter(filters)} typeWidth="6.5rem">
      {({ type, property, operator, value }, set, at) =>
        type === 'hogql' ? (
          <TextInput
            label={`Condition ${at + 1}`}
            placeholder="event = 'paid' OR properties.plan = 'pro'"
            flex={1}
            miw="12rem"
            value={property}
            onChange={(event) => set({ property: event.currentTarget.value })}
          />
        ) : (
          <>
            <PropertyName
              label={`Property ${at + 1}`}
              type={type}
              value={property}
              change={(name) => set({ property: name })}
            />
            <Select
              label={`Comparison ${at + 1}`}
              data={OPERATORS}
              value={operator}
              allowDeselect={false}
              onChange={(next) => set({ operator: next ?? 'exact' })}
            />
            {!BARE.includes(operator) && (
              <PropertyValue
                label={`Value ${at + 1}`}
                type={type}
                property={property}
                value={value}
                change={(next) => set({ value: next })}
              />
            )}
          </>
        )
      }
    </PropertyRows>
  );
}
