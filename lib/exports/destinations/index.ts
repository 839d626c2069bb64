import type { Destination } from './destination.ts';
import { folder } from './folder.ts';
import { http } from './http.ts';
import { noOp } from './no-op.ts';
import { postgres } from './postgres.ts';
import { redshift } from './redshift.ts';
import { s3 } from './s3.ts';

/** Every kind of destination that is built; a deployment offers some of them (`settings.destinations`). */
const ALL: readonly Destination[] = [folder, http, noOp, postgres, redshift, s3];

/** The same, by the name that `destination.type` says. */
const destinations: ReadonlyMap<string, Destination> = new Map(ALL.map((one) => [one.type, one]));

/** Undefined: there is no such type. */
export const destinationOf = (type: string): Destination | undefined => destinations.get(type);
