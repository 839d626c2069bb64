import { MultiSelect, Text } from '@mantine/core';
import { useState } from 'react';
import { useScope } from '../../client/access.ts';
import { insightName, useInsights } from '../../client/insights.ts';
import { FormDialog } from '../form-dialog.tsx';
import { Problem } from '../problem.tsx';
import { useRenew } from '../renew.ts';
import type { Needed } from '../scoped-button.tsx';
import { To } from '../to.tsx';
import { useSearch } from '../typing.ts';

interface AddInsightProps extends Pick<Needed, 'lacks'> {
  readonly project: string;
  /** The dashboard, and the insights that are on it. */
  readonly dashboard: number;
  readonly shown: readonly number[];
  /** Puts insights on the dashboard; resolves to whether they are there. */
  readonly add: (insights: readonly number[]) => Promise<boolean>;
}

/** Puts insights that there are on a dashboard, chosen by a part of their names; or leads to a new one for it. */
export function AddInsight({ project, dashboard, shown, add, lacks }: AddInsightProps) {
  const renew = useRenew();
  // Whoever may not read insights has none to choose from.
  const mayRead = useScope('insight:read');
  return (
    <FormDialog
      label="Add insight"
      scope={mayRead ? 'dashboard:write' : 'insight:read'}
      lacks={lacks}
      initial={{ insights: [] as readonly string[] }}
      does="Add"
      isReady={({ insights }) => insights.length > 0}
      submit={async ({ insights }) => {
        await add(insights.map(Number));
        await renew('insights', 'insight');
      }}
    >
      {({ values, set }) => (
        <>
          <InsightsChoice
            project={project}
            without={shown}
            value={values.insights}
            change={(insights) => set({ insights })}
          />
          <Text size="sm">
            Or <To {...newInsightOn(project, dashboard)}>make a new insight</To> for it.
          </Text>
        </>
      )}
    </FormDialog>
  );
}

/** Returns where an insight is made that is on a dashboard once it is kept. */
export const newInsightOn = (project: string, dashboard: number) => ({
  to: `/projects/${project}/insights/new`,
  view: { dashboard: String(dashboard) },
});

interface InsightsChoiceProps {
  readonly project: string;
  /** Those that are not offered. */
  readonly without: readonly number[];
  readonly value: readonly string[];
  readonly change: (insights: readonly string[]) => void;
}

function InsightsChoice({ project, without, value, change }: InsightsChoiceProps) {
  const { search, field } = useSearch();
  const { data, error, refetch } = useInsights(project, 1, { search });
  /** What those are called that were chosen, which what is found by now may be without. */
  const [chosen, setChosen] = useState<readonly { value: string; label: string }[]>([]);
  const found = (data?.results ?? [])
    .filter(({ id }) => !without.includes(id))
    .map((one) => ({ value: String(one.id), label: insightName(one) }));
  const all = [...found, ...chosen.filter((one) => !found.some((other) => other.value === one.value))];
  const nothing = data?.next == null ? 'No other insight matches.' : 'Type a part of the name; there are more.';
  return (
    <>
      <MultiSelect
        label="Insights"
        data-autofocus
        data={all}
        value={[...value]}
        onChange={(ids) => {
          setChosen(all.filter((one) => ids.includes(one.value)));
          change(ids);
        }}
        hidePickedOptions
        nothingFoundMessage={data === undefined ? undefined : nothing}
        {...field}
        clearButtonProps={{ 'aria-label': 'None' }}
      />
      <Problem error={error} retry={() => void refetch()} />
    </>
  );
}
