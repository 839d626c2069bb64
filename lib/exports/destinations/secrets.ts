import { isDeepStrictEqual } from 'node:util';
import { inQuotes } from '../../basics/text.ts';
import { typeName } from '../../http/fields.ts';
import type { Context } from '../../ports/context.ts';
import { invalid, Permanent } from '../../ports/errors.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import type { Belonging } from '../../ports/vault/vault.ts';
import { type BatchExportItem, belongingOf } from '../records/model.ts';
import type { Config, Destination } from './destination.ts';

const isObject = (value: unknown): value is Config => typeName(value) === 'dict';

/** Returns `over` laid upon `base`: objects merged key by key at any depth, the rest replaced, nothing removed. */
export function merge(base: Config, over: Config): Config {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const old = merged.get(key);
    merged.set(key, isObject(old) && isObject(value) ? merge(old, value) : value);
  }
  return Object.fromEntries(merged);
}

/** Takes a config apart: the keys named, at any depth, and the rest. `merge` puts it together again. */
export function splitSecrets(config: Config, names: readonly string[]): { open: Config; secret: Config } {
  const open: [string, unknown][] = [];
  const secret: [string, unknown][] = [];
  for (const [key, value] of Object.entries(config)) {
    if (names.includes(key)) secret.push([key, value]);
    else if (isObject(value)) {
      const inner = splitSecrets(value, names);
      open.push([key, inner.open]);
      if (Object.keys(inner.secret).length > 0) secret.push([key, inner.secret]);
    } else open.push([key, value]);
  }
  return { open: Object.fromEntries(open), secret: Object.fromEntries(secret) };
}

/**
 * Throws a `Failure` when an address changes, or is proved no more, without the secrets: they are for the one that they
 * were given for.
 */
export function checkSecretsSentAgain(destination: Destination, stored: Config, merged: Config, sent: Config): void {
  const { secrets, addresses, unproved = [] } = destination;
  const [before, after] = [stored, merged].map((config) => splitSecrets(config, secrets).open) as [Config, Config];
  const moved = [
    ...addresses.filter((path) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path))),
    ...unproved.filter((key) => after[key] === true && before[key] !== true),
  ];
  if (moved.length === 0) return;
  const again = secretPaths(sent, secrets);
  const kept = secretPaths(merged, secrets).filter((path) => !again.includes(path));
  if (kept.length > 0) {
    invalid('destination', `${inQuotes(kept)} must be sent again when ${inQuotes(moved)} changes.`);
  }
}

const valueAt = (config: Config, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), config);

/** Returns where values of these names are, at any depth, as `outer.inner`. */
const secretPaths = (config: Config, names: readonly string[]): string[] =>
  Object.entries(config).flatMap(([key, value]) => {
    if (names.includes(key)) return value === null ? [] : [key];
    return isObject(value) ? secretPaths(value, names).map((inner) => `${key}.${inner}`) : [];
  });

/** Returns the fields by which a config is stored: as it is, and its secrets sealed. */
export async function sealConfig(
  { vault }: Pick<Context, 'vault'>,
  destination: Destination,
  config: Config,
  belonging: Belonging,
): Promise<Pick<BatchExportItem, 'destination_config' | 'destination_secrets'>> {
  const { open, secret } = splitSecrets(config, destination.secrets);
  const hasSecrets = Object.keys(secret).length > 0;
  return {
    destination_config: toJsonText(open),
    destination_secrets: hasSecrets ? await vault.seal(JSON.stringify(secret), belonging) : null,
  };
}

/** Returns the whole config of an export, secrets included. */
export async function openConfig({ vault }: Pick<Context, 'vault'>, item: BatchExportItem): Promise<Config> {
  const open = fromJsonText(item.destination_config);
  if (item.destination_secrets === null) return open;
  return merge(open, JSON.parse(await vault.open(item.destination_secrets, belongingOf(item))));
}

/**
 * Returns the config of an export that `sent` is laid over. Where the stored secrets open no more it is without them, so
 * that those that are sent take their place; when none is, it fails with a 400 that says what is wrong.
 */
export async function configToChange(
  context: Pick<Context, 'vault'>,
  item: BatchExportItem,
  { secrets }: Destination,
  sent: Config,
): Promise<Config> {
  try {
    return await openConfig(context, item);
  } catch (error) {
    if (!(error instanceof Permanent)) throw error;
    if (secretPaths(sent, secrets).length === 0) invalid('destination', error.message);
    return fromJsonText(item.destination_config);
  }
}
