import { useQueryClient } from '@tanstack/react-query';

/** Returns what reads again all whose keys begin with one of these names, such as `alerts`; what nobody sees, once it is seen. */
export function useRenew(): (...names: readonly string[]) => Promise<unknown> {
  const queries = useQueryClient();
  return (...names) => Promise.all(names.map((name) => queries.invalidateQueries({ queryKey: [name] })));
}
