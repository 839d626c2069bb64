const endings: (() => unknown)[] = [];

/** What is done after the tests of the file, the last one first. A hook at the top of a shared module would run once. */
export function onEnd(end: () => unknown): void {
  endings.push(end);
}

/** Does it: called by the environment when a file is over. */
export async function endFile(): Promise<void> {
  for (const end of endings.splice(0).toReversed()) await end();
}
