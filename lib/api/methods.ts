import type { Route } from '../http/route.ts';
import { scopes } from './computed/scopes.ts';

const byTemplate = new Map(Object.entries(scopes).map(([path, methods]) => [path, new Map(Object.entries(methods))]));

/** What a key needs for a method of a path template; HEAD follows GET. Undefined: the path does not have it. */
export function scopeFor(method: string, template: string): Route['scope'] | undefined {
  return byTemplate.get(template)?.get(method === 'HEAD' ? 'GET' : method);
}

/** The methods of a path template, for `Allow`; HEAD beside GET. Empty: no such path. */
export function allowedMethods(template: string): string[] {
  return [...(byTemplate.get(template)?.keys() ?? [])].flatMap((method) =>
    method === 'GET' ? ['GET', 'HEAD'] : method,
  );
}
