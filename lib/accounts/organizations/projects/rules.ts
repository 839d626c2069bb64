import { invalid } from '../../../ports/errors.ts';

/** An organization has at most so many: each takes about 250 bytes of its item, which holds 400 KB. */
const MAX_PROJECTS = 1_000;

/** Throws a 400 when an organization with this many projects may not have another. */
export function refuseTooManyProjects(count: number): void {
  if (count >= MAX_PROJECTS) invalid(null, `An organization can have at most ${MAX_PROJECTS} projects.`);
}

/** Returns whether a text names a zone of time. Offsets such as `+01:00` name none: a zone knows its changes of clocks. */
export function isZone(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: text }).format(0);
    return true;
  } catch {
    return false;
  }
}
