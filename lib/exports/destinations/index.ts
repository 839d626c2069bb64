import type { Destination } from './destination.ts';
import { folder } from './folder.ts';
import { http } from './http.ts';
import { noOp } from './no-op.ts';
import { postgres } from './postgres.ts';
import { redshift } from './redshift.ts';
import { s3 } from './s3.ts';

/** Every kind of destination, in the order of their types; a deployment offers some of them (`settings.destinations`). */
export const DESTINATIONS: readonly Destination[] = [folder, http, noOp, postgres, redshift, s3];

/** Every kind of destination, by its type. */
const destinations: ReadonlyMap<string, Destination> = new Map(DESTINATIONS.map((one) => [one.type, one]));

/** Returns the destination of a type; undefined when there is none. */
export const destinationOf = (type: string): Destination | undefined => destinations.get(type);
