import type { ReactNode } from 'react';
import { useProject } from '../client/access.ts';
import { useParam } from './address.ts';
import { Loading } from './loading.tsx';
import { Problem } from './problem.tsx';

/** Shows what needs the id of the project's organization, once it is known, or why the key may not know it. */
export function InOrganization({ children }: { readonly children: (organization: string) => ReactNode }) {
  const { data, error, refetch } = useProject(useParam('project'));
  if (data !== undefined) return children(data.organization);
  return error === null ? <Loading /> : <Problem error={error} retry={() => void refetch()} />;
}
