import findMyWay from 'find-my-way';

/** Longest ARN of a method, which holds the path, in bytes: API Gateway's own limit. */
export const LONGEST_ARN = 1_600;

interface Match {
  readonly template: string;
  readonly params: Record<string, string> | null;
}

/** The router only finds; it calls nothing. */
const ignored = (): void => {};

/** Undefined: no template fits. */
export type PathMatcher = (path: string) => Match | 'malformed' | undefined;

/** Makes the matcher of path templates, which any number of servers may share. */
export function pathMatcher(templates: readonly string[]): PathMatcher {
  const router = findMyWay({
    ignoreTrailingSlash: true,
    maxParamLength: LONGEST_ARN,
    onBadUrl: ignored,
  });
  for (const template of templates) {
    router.on('GET', template.replaceAll(/\{(\w+)\}/g, ':$1'), ignored, template);
  }
  return (path) => {
    const found = router.find('GET', path);
    if (found === null) return undefined;
    if (found.store === null) return 'malformed';
    const params = found.params as Record<string, string>;
    // `/api/organizations//` is no address: an empty name between two slashes.
    for (const name in params) if (params[name] === '') return undefined;
    return { template: found.store as string, params: Object.keys(params).length === 0 ? null : params };
  };
}
