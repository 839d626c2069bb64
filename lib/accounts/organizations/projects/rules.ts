import { invalid } from '../../../ports/errors.ts';

/** Projects of one organization: each takes about 250 bytes of its item, which holds 400 KB. */
const MAX_PROJECTS = 1_000;

/** Refuses one project more for an organization that has this many. */
export function refuseTooManyProjects(count: number): void {
  if (count >= MAX_PROJECTS) invalid(null, `An organization can have at most ${MAX_PROJECTS} projects.`);
}
