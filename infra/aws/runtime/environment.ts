import type { Settings } from '../../../lib/ports/settings.ts';
import type { Variable } from '../functions.ts';

/** Returns what the template named in the function's environment. Throws where it did not. */
export const variable = (name: Variable): string => {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`the environment of this function lacks ${name}`);
  return value;
};

/** Writes to the function's log. */
export const write = (text: string): void => void process.stdout.write(text);

/** The settings of the stage. */
export const settings = (): Settings => JSON.parse(variable('SETTINGS'));
