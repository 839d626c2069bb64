import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';
import { endFile } from './on-end.ts';

/** The variable in which `jest.setTimeout` keeps a file's limit. */
const FILE_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

/** What jest replaces in the process of a test file. */
const { exit, getBuiltinModule } = Object.getOwnPropertyDescriptors(process);

/**
 * Test files run in the realm of Node itself, as the program does, instead of a realm each; `jest-runtime.ts` tells why.
 * What a file changes for good, the next file of the worker meets: timers, mocks, the limit of time and the process are
 * put back here.
 */
export default class {
  readonly global = globalThis;
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;

  constructor({
    projectConfig: config,
  }: { projectConfig: ConstructorParameters<typeof ModernFakeTimers>[0]['config'] }) {
    this.fakeTimersModern = new ModernFakeTimers({ config, global: globalThis });
  }

  async setup(): Promise<void> {
    Object.defineProperties(process, { getBuiltinModule });
  }

  async teardown(): Promise<void> {
    await endFile();
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    Object.defineProperties(process, { exit });
    Reflect.deleteProperty(globalThis, FILE_TIMEOUT);
  }

  /** There is none: `jest-runtime.ts` imports every module into Node's own realm. */
  getVmContext(): null {
    return null;
  }
}
