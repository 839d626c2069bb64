import { MultiSelect, type MultiSelectProps, Select, type SelectProps } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { dashboardAt, useDashboards } from '../../client/dashboards.ts';
import { useSearch } from '../typing.ts';

const optionOf = ({ id, name }: { readonly id: number; readonly name: string }) => ({
  value: String(id),
  label: name || 'Untitled',
});

/** Returns the dashboards that have a part of their name like what is typed, and what a field takes to type it. */
function useFound(project: string) {
  const { search, field } = useSearch();
  const { data } = useDashboards(project, 1, { search });
  return { found: (data?.results ?? []).map(optionOf), field };
}

interface DashboardChoiceProps extends Pick<SelectProps, 'value' | 'onChange' | 'error' | 'allowDeselect'> {
  readonly project: string;
  /** The one that is not offered. */
  readonly without: number;
}

/** Chooses a dashboard of the project by a part of its name. */
export function DashboardChoice({ project, without, ...rest }: DashboardChoiceProps) {
  const { found, field } = useFound(project);
  return (
    <Select
      label="Dashboard"
      required
      data-autofocus
      data={found.filter(({ value }) => value !== String(without))}
      nothingFoundMessage="No other dashboard matches."
      {...field}
      {...rest}
    />
  );
}

interface DashboardsChoiceProps extends Required<Pick<MultiSelectProps, 'label' | 'onChange'>> {
  readonly project: string;
  readonly value: string[];
}

/** Chooses dashboards of the project by a part of their names. */
export function DashboardsChoice({ project, value, ...rest }: DashboardsChoiceProps) {
  const { found, field } = useFound(project);
  // Those that are chosen have names, too, when the list that is found is without them.
  const others = useQueries({
    queries: value.filter((id) => !found.some((one) => one.value === id)).map((id) => dashboardAt(project, id)),
  });
  const named = others.flatMap(({ data }) => (data === undefined ? [] : [optionOf(data.value)]));
  return (
    <MultiSelect
      data={[...found, ...named]}
      value={value}
      hidePickedOptions
      nothingFoundMessage="No other dashboard matches."
      clearButtonProps={{ 'aria-label': 'On none' }}
      {...field}
      {...rest}
    />
  );
}
