/** Where an export leads, by the type of the destination, as the document of the API tells it. */
import * as z from 'zod';
import { EVENT_LISTS } from './config.ts';
import type { Destination } from './destination.ts';
import { DESTINATIONS } from './index.ts';

/** A union by `type`, of components that are named by it: `S3DestinationInput`. */
const union = (suffix: string, configOf: (destination: Destination) => z.ZodObject) => {
  const [first, ...rest] = DESTINATIONS.map((destination) =>
    z
      .object({ type: z.literal(destination.type), config: configOf(destination) })
      .meta({ id: `${destination.type}${suffix}` }),
  );
  return z
    .discriminatedUnion('type', [first as z.ZodObject<{ type: z.ZodLiteral<string>; config: z.ZodObject }>, ...rest])
    .meta({ discriminator: { propertyName: 'type' } });
};

const keysOf = ({ config }: Destination): z.ZodObject => config.extend(EVENT_LISTS);

const mapped = (config: z.ZodObject, of: (field: z.ZodType) => z.ZodType): z.ZodObject =>
  z.object(Object.fromEntries(Object.entries(config.shape).map(([name, field]) => [name, of(field as z.ZodType)])));

/** What an answer has: every key, but those that are secret at any depth. */
function answered(config: z.ZodObject, secrets: readonly string[]): z.ZodObject {
  const known = Object.keys(config.shape).filter((name) => secrets.includes(name));
  return mapped(config.omit(Object.fromEntries(known.map((name) => [name, true as const])) as never), inner);

  function inner(field: z.ZodType): z.ZodType {
    if (field instanceof z.ZodDefault) return inner(field.unwrap() as z.ZodType);
    if (field instanceof z.ZodNullable) return inner(field.unwrap() as z.ZodType).nullable();
    if (field instanceof z.ZodOptional) return inner(field.unwrap() as z.ZodType).optional();
    if (field instanceof z.ZodUnion) return z.union((field.options as readonly z.ZodType[]).map(inner));
    return field instanceof z.ZodObject ? answered(field, secrets) : field;
  }
}

/** What a PATCH may have: any key; what it omits stays as it is, which is no default. */
const patched = (config: z.ZodObject): z.ZodObject =>
  mapped(config, (field) => (field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field).optional());

/** Schemas in the place of the components of these names; a PATCH may omit any key, and no answer has a secret. */
export const DESTINATION_KINDS = {
  Destination: { schema: union('Destination', (one) => answered(keysOf(one), one.secrets)), io: 'output' },
  DestinationInput: { schema: union('DestinationInput', keysOf), io: 'input' },
  DestinationPatch: { schema: union('DestinationPatch', (one) => patched(keysOf(one))), io: 'input' },
} as const;
