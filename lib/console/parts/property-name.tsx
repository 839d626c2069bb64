import { Autocomplete, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { counted } from '../../basics/text.ts';
import { type NamedType, usePropertyNames, usePropertyValues } from '../client/names.ts';
import { useParam } from './address.ts';
import { useSettled } from './typing.ts';

interface PropertyNameProps {
  readonly label: string;
  readonly type: NamedType;
  readonly value: string;
  readonly change: (name: string) => void;
  /** What is wrong with it, in a sentence. */
  readonly fault?: string;
}

/** The name of a property, completed by those that were seen. */
export function PropertyName({ label, type, value, change, fault }: PropertyNameProps) {
  const [isAsked, setAsked] = useState(false);
  const search = useSettled(value);
  const names = usePropertyNames(useParam('project'), type, search, isAsked);
  const volumes = new Map(names.map(({ name, volume_30_day: volume }) => [name, volume]));
  return (
    <Autocomplete
      label={label}
      placeholder="a property"
      data={names.map(({ name }) => name)}
      value={value}
      onChange={change}
      error={fault}
      onFocus={() => setAsked(true)}
      renderOption={({ option }) => (
        <Group justify="space-between" wrap="nowrap" w="100%">
          <Text size="sm" truncate>
            {option.value}
          </Text>
          <Text size="xs" c="dimmed" flex="none">
            {counted(volumes.get(option.value) ?? 0, type)}
          </Text>
        </Group>
      )}
      comboboxProps={{ width: 320, position: 'bottom-start' }}
    />
  );
}

interface PropertyValueProps extends Omit<PropertyNameProps, 'fault'> {
  readonly property: string;
}

/** A value of a property, completed by those that it had lately. */
export function PropertyValue({ label, type, property, value, change }: PropertyValueProps) {
  const [isAsked, setAsked] = useState(false);
  const values = usePropertyValues(useParam('project'), type, property, isAsked);
  return (
    <Autocomplete label={label} data={[...values]} value={value} onChange={change} onFocus={() => setAsked(true)} />
  );
}
