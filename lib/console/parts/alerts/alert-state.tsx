import type { Alert } from '../../client/alerts.ts';
import { Label } from '../label.tsx';

const COLORS: Readonly<Record<Alert['state'], string>> = {
  'Not firing': 'green',
  Firing: 'red',
  Errored: 'orange',
  Snoozed: 'gray',
};

/** What a number is, as people read it. */
export const numberText = (value: number | null): string => (value === null ? '–' : value.toLocaleString('en'));

/** Shows what an alert found when it last looked, or that it does not look. */
export function AlertState({ state, enabled = true }: { readonly state: Alert['state']; readonly enabled?: boolean }) {
  return enabled ? <Label color={COLORS[state]}>{state}</Label> : <Label>Disabled</Label>;
}
