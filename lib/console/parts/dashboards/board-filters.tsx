import { Code, Text } from '@mantine/core';
import type { Dashboard } from '../../client/dashboards.ts';
import type { BoardView } from '../../client/insights.ts';
import { type SentFilter, sentFilters, wholeFiltersIn } from '../../client/property-filters.ts';
import { ActButton } from '../act-button.tsx';
import { useView } from '../address.ts';
import { FormDialog } from '../form-dialog.tsx';
import { PropertyFilters } from '../property-filters.tsx';
import type { Needed } from '../scoped-button.tsx';

/** Returns the filters that the address asks for; undefined: those that the dashboard keeps. */
export function useChosenFilters(): readonly SentFilter[] | undefined {
  const [{ filters }] = useView();
  if (filters === undefined) return undefined;
  try {
    const found = wholeFiltersIn(JSON.parse(filters));
    return found && sentFilters(found);
  } catch {
    return undefined;
  }
}

interface BoardFiltersProps extends Pick<Needed, 'lacks'> {
  readonly board: BoardView;
  /** Resolves to whether it is written. */
  readonly write: (change: { filters: Dashboard['filters'] }) => Promise<boolean>;
}

/** Chooses filters of all charts: for the reader, in the address, and for everybody when they are kept. */
export function BoardFilters({ board: { filters, properties }, write, lacks }: BoardFiltersProps) {
  const [, setView] = useView();
  const kept = wholeFiltersIn(filters['properties']);
  const shown = properties === undefined ? kept : wholeFiltersIn(properties);
  const keep = async (): Promise<void> => {
    const isKept = await write({ filters: { ...filters, properties: [...(properties ?? [])] } });
    if (isKept) setView({ filters: undefined });
  };
  return (
    <>
      <FormDialog
        label={shown === undefined || shown.length > 0 ? `Filters (${shown?.length ?? 'kept'})` : 'Filters'}
        scope="dashboard:read"
        initial={{ filters: shown ?? [] }}
        dialogSize="xl"
        does="Apply"
        isReady={() => shown !== undefined}
        submit={async ({ filters: chosen }) => {
          const sent = JSON.stringify(sentFilters(chosen));
          setView({ filters: sent === JSON.stringify(sentFilters(kept ?? [])) ? undefined : sent });
        }}
      >
        {(form) =>
          shown === undefined ? (
            <>
              <Text size="sm">The form cannot say all of these filters. They are kept as they are.</Text>
              <Code block tabIndex={0}>
                {JSON.stringify(filters['properties'], null, 2)}
              </Code>
            </>
          ) : (
            <>
              <Text size="sm">All charts count only events with</Text>
              <PropertyFilters filters={form.values.filters} change={(next) => form.set({ filters: next })} />
            </>
          )
        }
      </FormDialog>
      {properties !== undefined && (
        <ActButton scope="dashboard:write" lacks={lacks} size="xs" act={keep}>
          Keep these filters
        </ActButton>
      )}
    </>
  );
}
