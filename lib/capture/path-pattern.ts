/** Paths of SDKs as a gateway names them, and as regular expressions know them. */

/** What stands for `{token}`: visible ASCII without a slash. */
const TOKEN = '([!-.0-~]{1,64})';

/** Returns the paths as alternatives of a regular expression, with `token` for what may stand for `{token}`. */
export const alternativesOf = (templates: readonly string[], token: string): string =>
  templates.map((path) => path.replaceAll('.', '\\.').replaceAll('{token}', token)).join('|');

/** Returns what the paths match, each with and without a slash at its end, and captures of one with a token. */
export const patternOf = (templates: readonly string[]): RegExp =>
  new RegExp(`^(?:${alternativesOf(templates, TOKEN)})/?$`);
