import * as z from 'zod';
import { getOrMake } from '../../basics/maps.ts';
import { inQuotes } from '../../basics/text.ts';
import { notAChoice, typeName } from '../../http/fields.ts';
import { safelyParsed, valueAt } from '../../http/parse.ts';
import { invalid, Permanent } from '../../ports/errors.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { Config, Destination, Reach } from './destination.ts';
import { checkSecretsSentAgain, merge } from './secrets.ts';

/** Keys that the config of every type takes: names of events; an empty list or null restricts nothing. */
export const EVENT_LISTS = {
  exclude_events: z.array(z.string()).nullable().optional(),
  include_events: z.array(z.string()).nullable().optional(),
};

/** Keys that clients send in every config, though they say nothing there. */
const TOLERATED: ReadonlySet<string> = new Set(['interval']);

/**
 * Returns the config that a create makes of what was sent (`stored` undefined), or that a PATCH makes of it and the
 * stored one, secrets included: known keys only, values of the right type (numbers and booleans sent as text become
 * what they say), defaults filled in. Throws a `Failure` with PostHog's text when it breaks a rule.
 */
export function checkedConfig(
  destination: Destination,
  sent: Config,
  stored: Config | undefined,
  about: Pick<BatchExportItem, 'model'>,
  reach: Reach,
): Config {
  const { known, fields } = schemaOf(destination);
  const unknown = Object.keys(sent).filter((key) => !fields.has(key) && !TOLERATED.has(key));
  if (unknown.length > 0) refuseUnknown(unknown);
  const merged = merge(stored ?? {}, coerced(sent, fields));
  for (const [key, field] of fields) {
    if (!Object.hasOwn(merged, key) && !field.safeParse(undefined).success) {
      refuseFields(`Configuration missing required field: '${key}'`);
    }
  }
  const parsed = safelyParsed(known, merged);
  if (!parsed.success) refuseIssue(parsed.error.issues[0] as z.core.$ZodIssue, merged);
  checkEventLists(parsed.data, about);
  destination.check(parsed.data, about.model, reach);
  if (stored !== undefined) checkSecretsSentAgain(destination, stored, parsed.data, sent);
  return parsed.data;
}

/** Throws a `Failure` for names of events where none are delivered: all persons would be, as if nothing was chosen. */
function checkEventLists(config: Config, { model }: Pick<BatchExportItem, 'model'>): void {
  for (const name of Object.keys(EVENT_LISTS)) {
    const names = config[name];
    if (model !== 'events' && Array.isArray(names) && names.length > 0)
      invalid('destination', `'${name}' is only supported for 'events' not '${model}' model`);
  }
}

interface ConfigSchema {
  readonly known: z.ZodObject;
  readonly fields: ReadonlyMap<string, z.ZodType>;
}

/** The schemas that were made: making one takes a quarter of the time of a create. */
const schemas = new Map<Destination, ConfigSchema>();

const schemaOf = (destination: Destination): ConfigSchema =>
  getOrMake(schemas, destination, () => {
    const known = z.object({ ...destination.config.shape, ...EVENT_LISTS });
    return { known, fields: new Map<string, z.ZodType>(Object.entries(known.shape)) };
  });

function refuseFields(detail: string): never {
  invalid('destination__non_field_errors', detail);
}

const refuseUnknown = (names: readonly string[]): never =>
  refuseFields(`Configuration has unknown field/s: ${inQuotes(names.toSorted())}`);

/** Returns what was sent, with text read as a number or a boolean where the field is just that. */
function coerced(sent: Config, fields: ReadonlyMap<string, z.ZodType>): Config {
  return Object.fromEntries(
    Object.entries(sent)
      .filter(([key]) => fields.has(key))
      .map(([key, value]) => [key, typeof value === 'string' ? fromText(value, plainType(fields.get(key))) : value]),
  );
}

/** Returns the type of a field below its defaults and nulls. */
function plainType(field: z.core.$ZodType | undefined): string | undefined {
  const definition = field?._zod.def;
  return definition !== undefined && 'innerType' in definition
    ? plainType(definition.innerType as z.core.$ZodType)
    : definition?.type;
}

const TRUE = /^(true|t|yes|y|on|1)$/i;

const FALSE = /^(false|f|no|n|off|0)$/i;

function fromText(text: string, type: string | undefined): unknown {
  if (type === 'number' && /^\s*[+-]?\d{1,15}\s*$/.test(text)) return Number(text);
  if (type === 'boolean' && (TRUE.test(text) || FALSE.test(text))) return TRUE.test(text);
  return text;
}

/** Names of types as `typeName` says them, by zod's. */
const EXPECTED: ReadonlyMap<string, string> = new Map([
  ['string', 'str'],
  ['number', 'int'],
  ['int', 'int'],
  ['boolean', 'bool'],
  ['array', 'list'],
  ['object', 'dict'],
  ['record', 'dict'],
]);

function refuseIssue(issue: z.core.$ZodIssue, config: Config): never {
  const value = valueAt(config, issue.path);
  const found = typeName(value);
  const name = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') refuseUnknown(issue.keys.map((key) => `${name}.${key}`));
  if (issue.code === 'invalid_type' || (issue.code === 'invalid_value' && found !== 'str')) {
    const expected = issue.code === 'invalid_type' ? (EXPECTED.get(issue.expected) ?? issue.expected) : 'str';
    if (found === expected) invalid('destination', `'${name}' is out of range.`);
    refuseFields(`Configuration has invalid type: got '${found}', expected '${expected}'`);
  }
  if (issue.code === 'invalid_value') invalid('destination', notAChoice(value, issue.values), 'invalid_choice');
  invalid('destination', `'${name}' has an invalid value: ${issue.message}`);
}

/** Throws a `Failure` when this machine can tell already that nothing can be delivered. */
export async function checkProved(destination: Destination, config: Config, reach: Reach): Promise<void> {
  try {
    await destination.prove?.(config, reach);
  } catch (error) {
    if (error instanceof Permanent) invalid('destination', error.message);
    throw error;
  }
}

/** Throws a `Failure` when the type of a destination is to change. */
export function checkSameType(stored: string, sent: string): void {
  if (sent === stored) return;
  const advice = 'Delete this batch export and create a new one with the new destination type.';
  invalid('destination', `Cannot change destination type from '${stored}' to '${sent}'. ${advice}`);
}
