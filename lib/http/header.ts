/** Returns a header's value, whatever the case of its name as sent; undefined when it was not sent. */
export function headerOf(
  headers: Readonly<Record<string, string | undefined>> | null | undefined,
  lowerCaseName: string,
): string | undefined {
  if (headers === null || headers === undefined) return undefined;
  const value = headers[lowerCaseName];
  if (typeof value === 'string') return value;
  const name = Object.keys(headers).find((key) => key.toLowerCase() === lowerCaseName);
  return name === undefined ? undefined : headers[name];
}

/** The headers of every answer with a body that does not say otherwise: nobody keeps a copy, nor takes it for anything else. */
export const BODY_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const;

/** The headers of a file whose address tells its content. */
export const KEPT_FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' } as const;
