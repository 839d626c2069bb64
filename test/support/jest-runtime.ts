import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type jestRuntime from 'jest-runtime';

const require = createRequire(import.meta.url);
const { default: Runtime } = require('jest-runtime') as typeof jestRuntime;

/** Where jest-circus keeps the listeners of a file's events. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');

/**
 * Imports test files with Node itself, which strips their types as it does for `npm start`. A worker of jest so loads
 * the program once, not once for each file, which was most of the processor time of the suite; and errors, lists and
 * numbers are those of the one realm that the program has when it runs. What goes with it, `jest.mock` and modules of a
 * file's own, no test here uses.
 */
export default class extends Runtime {
  constructor(...config: ConstructorParameters<typeof Runtime>) {
    super(...config);
    const [file, { watch, watchAll }] = [config[6], config[7]];
    if (watch || watchAll)
      throw new Error('Modules stay as they were when first read: run jest again, without --watch.');
    Object.assign(globalThis, { jest: this.requireModuleOrMock<{ jest: unknown }>(file, '@jest/globals').jest });
  }

  override unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  /** Imports a test file, or a set-up file. */
  override async unstable_importModule(path: string): Promise<unknown> {
    return await import(pathToFileURL(path).href);
  }

  /** Loads jest-circus, for each test file anew: its state belongs to one file. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the signature is jest's
  override requireInternalModule<T = unknown>(from: string): T {
    for (const path of Object.keys(require.cache)) if (path.includes('/jest-circus/')) delete require.cache[path];
    Reflect.deleteProperty(globalThis, EVENT_HANDLERS);
    return require(from) as T;
  }
}
