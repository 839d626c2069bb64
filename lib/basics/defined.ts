/** Returns the members of an object that say something: those that are not undefined. */
export const definedOf = <T extends object>(sent: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)) as never;
