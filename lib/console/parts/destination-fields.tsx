import { PasswordInput, Select, Stack, Switch, TextInput } from '@mantine/core';
import type { ChangeEvent } from 'react';
import type { DestinationForm, Field, Values } from '../client/destinations.ts';
import { faultOf } from './problem.tsx';

interface DestinationFieldsProps {
  readonly form: DestinationForm;
  readonly values: Values;
  readonly error: unknown;
  /** The config that is kept; what it does not tell is secret, and stays while nothing is written. Undefined: there is none. */
  readonly kept: Readonly<Record<string, unknown>> | undefined;
  readonly change: (key: string, value: string | number | boolean) => void;
}

/** The fields of a destination's config. */
export function DestinationFields({ form, values, error, kept, change }: DestinationFieldsProps) {
  return (
    <Stack gap="sm">
      {form.fields.map((field) => (
        <DestinationField
          key={field.key}
          field={field}
          value={values[field.key] ?? ''}
          fault={faultOf(error, field.key)}
          isWithheld={kept !== undefined && !(field.key in kept)}
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
  readonly isWithheld: boolean;
  readonly change: (value: string | number | boolean) => void;
}

function DestinationField({ field, value, fault, isWithheld, change }: DestinationFieldProps) {
  const { label, help, kind, choices = [], isRequired = false } = field;
  const own = field.fault?.(String(value));
  const about = {
    label,
    description: help,
    error: own ?? fault,
    required: isRequired && !isWithheld,
    ...(isWithheld ? { placeholder: 'stays as it is' } : {}),
  };
  const typed = {
    ...about,
    value: String(value),
    onChange: (event: ChangeEvent<HTMLInputElement>) => change(event.currentTarget.value),
  };
  switch (kind) {
    case 'switch':
      return (
        <Switch label={label} checked={value === true} onChange={(event) => change(event.currentTarget.checked)} />
      );
    case 'number':
      return <TextInput {...typed} inputMode="numeric" pattern="[0-9]*" />;
    case 'secret':
      return (
        <PasswordInput
          {...typed}
          autoComplete="new-password"
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
      return <TextInput {...typed} />;
  }
}
