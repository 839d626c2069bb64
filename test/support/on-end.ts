const endings: (() => unknown)[] = [];

/** What is done after the tests of the file, the last one first. A hook at the top of a shared module would run once. */
export function onEnd(end: () => unknown): void {
  endings.push(end);
}

/** Returns what gives the one thing of a test file: made when it is first asked for, and ended after the file's tests. */
export function onePerFile<T>(make: () => T, end: (made: T) => unknown): () => T {
  let held: { readonly made: T } | undefined;
  return () => {
    if (held === undefined) {
      const made = make();
      onEnd(() => {
        held = undefined;
        return end(made);
      });
      held = { made };
    }
    return held.made;
  };
}

/** Does it: called by the environment when a file is over. */
export async function endFile(): Promise<void> {
  for (const end of endings.splice(0).toReversed()) await end();
}
