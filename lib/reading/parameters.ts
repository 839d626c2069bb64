/** Puts a value into the parameters of a reading, and returns how its SQL names it. */
export type Given = (name: string, value: string) => string;

/** Returns the parameters of a reading, of which there are none yet, and what puts values into them. */
export function readingParameters(): { readonly parameters: Readonly<Record<string, string>>; readonly given: Given } {
  const parameters: Record<string, string> = {};
  const given: Given = (name, value) => {
    parameters[name] = value;
    return `$${name}`;
  };
  return { parameters, given };
}
