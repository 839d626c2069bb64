import { PasswordInput, Select, Stack, Switch, TextInput } from '@mantine/core';
import type { DestinationForm, Field, Values } from '../client/destinations.ts';
import { faultOf } from './problem.tsx';

interface DestinationFieldsProps {
  readonly form: DestinationForm;
  readonly values: Values;
  readonly error: unknown;
  /** Whether secrets are known already, and stay while nothing is written. */
  readonly isStored: boolean;
  readonly change: (key: string, value: string | number | boolean) => void;
}

/** The fields of a destination's config. */
export function DestinationFields({ form, values, error, isStored, change }: DestinationFieldsProps) {
  return (
    <Stack gap="sm">
      {form.fields.map((field) => (
        <DestinationField
          key={field.key}
          field={field}
          value={values[field.key] ?? ''}
          fault={faultOf(error, field.key)}
          isStored={isStored}
          change={(value) => change(field.key, value)}
        />
      ))}
    </Stack>
  );
}

interface DestinationFieldProps {
  readonly field: Field;
  readonly value: string | number | boolean;
  readonly fault: string | undefined;
  readonly isStored: boolean;
  readonly change: (value: string | number | boolean) => void;
}

function DestinationField({ field, value, fault, isStored, change }: DestinationFieldProps) {
  const { label, help, kind, choices = [], isRequired = false } = field;
  const about = { label, description: help, error: fault, required: isRequired };
  switch (kind) {
    case 'switch':
      return (
        <Switch label={label} checked={value === true} onChange={(event) => change(event.currentTarget.checked)} />
      );
    case 'number':
      return (
        <TextInput
          {...about}
          inputMode="numeric"
          pattern="[0-9]*"
          value={String(value)}
          onChange={(event) => change(event.currentTarget.value)}
        />
      );
    case 'secret':
      return (
        <PasswordInput
          {...about}
          required={isRequired && !isStored}
          {...(isStored ? { placeholder: 'stays as it is' } : {})}
          value={String(value)}
          autoComplete="new-password"
          onChange={(event) => change(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': `Show ${label}` }}
        />
      );
    case 'choice':
      return (
        <Select
          {...about}
          value={String(value)}
          data={choices.map((choice) => ({ value: choice, label: choice === '' ? 'none' : choice }))}
          allowDeselect={false}
          onChange={(chosen) => change(chosen ?? '')}
        />
      );
    case 'text':
    default:
      return <TextInput {...about} value={String(value)} onChange={(event) => change(event.currentTarget.value)} />;
  }
}
