import { Button, Group, Select, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { capitalized } from '../../basics/text.ts';
import { PROPERTY_TYPES, type PropertyType } from '../client/property-filters.ts';
import { RemoveIcon } from './remove-icon.tsx';

/** What is of a property, or in HogQL. */
interface PropertyRow {
  /** Its place among those that were ever in the form. */
  readonly key: number;
  readonly type: PropertyType;
}

interface PropertyRowsProps<Row extends PropertyRow> {
  /** What each is: `filter`. */
  readonly what: string;
  readonly all: readonly Row[];
  readonly change: (all: readonly Row[]) => void;
  /** Returns one that says nothing yet; null: there may be no more. */
  readonly another: (() => Row) | null;
  /** How wide the choice of the type is. */
  readonly typeWidth: string;
  /** The fields behind the type; `set` changes some of them. `at` counts from 0. */
  readonly children: (row: Row, set: (some: Partial<Row>) => void, at: number) => ReactNode;
}

/** Rows that each are of a property of events or persons, or in HogQL: one is added behind, and any taken away. */
export function PropertyRows<Row extends PropertyRow>({
  what,
  all,
  change,
  another,
  typeWidth,
  children,
}: PropertyRowsProps<Row>) {
  return (
    <Stack gap="xs">
      {all.map((row, at) => {
        const set = (some: Partial<Row> | { readonly type: PropertyType }): void =>
          change(all.map((one) => (one.key === row.key ? { ...one, ...some } : one)));
        return (
          <Group key={row.key} align="end" gap="xs">
            <Select
              label={`${capitalized(what)} ${at + 1} by`}
              w={typeWidth}
              data={PROPERTY_TYPES}
              value={row.type}
              allowDeselect={false}
              onChange={(type) => set({ type: type ?? 'event' })}
            />
            {children(row, set, at)}
            <RemoveIcon
              size="lg"
              what={`${what} ${at + 1}`}
              onClick={() => change(all.filter(({ key }) => key !== row.key))}
            />
          </Group>
        );
      })}
      {another !== null && (
        <Group>
          <Button size="xs" variant="default" onClick={() => change([...all, another()])}>
            Add a {what}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
