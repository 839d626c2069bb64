import type { Alert } from '../../client/alerts.ts';
import { Label } from '../label.tsx';

const COLORS: Readonly<Record<Alert['state'], string>> = {
  'Not firing': 'green',
  Firing: 'red',
  Errored: 'orange',
  Snoozed: 'gray',
};

/** At least six digits: what is between small bounds is told apart from zero. */
const number = new Intl.NumberFormat('en', {
  maximumFractionDigits: 3,
  maximumSignificantDigits: 6,
  roundingPriority: 'morePrecision',
});

/** What an alert found, as people read it and as its bounds are said: of a share 0.5 is 50 percent. */
export function numberText(value: number | null, { threshold }: Pick<Alert, 'threshold'>): string {
  if (value === null) return '–';
  const isShare = threshold.configuration.type === 'percentage';
  return isShare ? `${number.format(value * 100)} percent` : number.format(value);
}

/** Shows what an alert found when it last looked, or that it does not look. */
export function AlertState({ state, enabled = true }: { readonly state: Alert['state']; readonly enabled?: boolean }) {
  return enabled ? <Label color={COLORS[state]}>{state}</Label> : <Label>Disabled</Label>;
}
