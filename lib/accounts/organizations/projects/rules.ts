import { invalid } from '../../../ports/errors.ts';

/** An organization has at most so many: each takes about 250 bytes of its item, which holds 400 KB. */
const MAX_PROJECTS = 1_000;

/** Throws a 400 when an organization with this many projects may not have another. */
export function refuseTooManyProjects(count: number): void {
  if (count >= MAX_PROJECTS) invalid(null, `An organization can have at most ${MAX_PROJECTS} projects.`);
}
