/** Whose a file at a destination is: it belongs to the export that wrote it, and nobody else replaces or removes it. */
import { Permanent } from '../../../ports/errors.ts';
import type { Delivery } from '../destination.ts';

/**
 * Throws `Permanent`, which says who holds the name of a file, and what to change. `writer`: the export that wrote what
 * lies there; undefined: no mark of an export is on it. `place`: the file, as the customer knows it.
 */
export async function refuseTaken(
  { nameOf }: Pick<Delivery, 'nameOf'>,
  place: string,
  writer: string | undefined,
): Promise<never> {
  throw new Permanent(
    writer === undefined
      ? `${place} is there already, and this batch export did not write it or somebody has changed it since: it is ` +
          'not replaced. Move it away, or choose another prefix; then run the interval again.'
      : `${place} was written by ${await nameOf(writer)}, and is not replaced. Let one of the two have another prefix, ` +
          'for example with {table} in it; then run the interval again.',
  );
}
