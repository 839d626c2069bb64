import { types } from 'node:util';

/**
 * Each test file runs in a realm of its own, where errors of Node's core modules are no instances of `Error`. In plain
 * Node they are, and libraries rely on it (the AWS SDK keeps `code` only of those), so it holds here too.
 */
Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    return this === Error
      ? types.isNativeError(value)
      : Reflect.apply(Function.prototype[Symbol.hasInstance], this, [value]);
  },
});
