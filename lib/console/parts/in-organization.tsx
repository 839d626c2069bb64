import type { ReactNode } from 'react';
import { useProject } from '../client/access.ts';
import { useParam } from './address.ts';
import { Awaited } from './problem.tsx';

/** Shows what needs the id of the project's organization, once it is known, or why the key may not know it. */
export function InOrganization({ children }: { readonly children: (organization: string) => ReactNode }) {
  const asked = useProject(useParam('project'));
  return asked.data === undefined ? <Awaited asked={asked} /> : children(asked.data.organization);
}
