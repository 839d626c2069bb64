import { TextInput } from '@mantine/core';
import { anotherBreakdown, type Breakdown, MOST_BREAKDOWNS } from '../../client/questions.ts';
import { PropertyName } from '../property-name.tsx';
import { PropertyRows } from '../property-rows.tsx';

interface BreakdownsProps {
  readonly all: readonly Breakdown[];
  readonly change: (all: readonly Breakdown[]) => void;
}

/** What numbers are told apart by. */
export function Breakdowns({ all, change }: BreakdownsProps) {
  return (
    <PropertyRows
      what="breakdown"
      all={all}
      change={change}
      another={all.length < MOST_BREAKDOWNS ? () => anotherBreakdown(all) : null}
      typeWidth="8rem"
    >
      {({ type, property }, set, at) =>
        type === 'hogql' ? (
          <TextInput
            label={`Expression of breakdown ${at + 1}`}
            placeholder="lower(properties.plan)"
            value={property}
            onChange={(event) => set({ property: event.currentTarget.value })}
          />
        ) : (
          <PropertyName
            label={`Property of breakdown ${at + 1}`}
            type={type}
            value={property}
            change={(name) => set({ property: name })}
          />
        )
      }
    </PropertyRows>
  );
}
