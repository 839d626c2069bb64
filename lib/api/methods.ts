import type { Route } from '../http/route.ts';
import { scopes } from './computed/scopes.ts';

const byTemplate = new Map(Object.entries(scopes).map(([path, methods]) => [path, new Map(Object.entries(methods))]));

/** Returns the scope that a method of a path template needs; HEAD follows GET. Undefined: the path does not have it. */
export function scopeFor(method: string, template: string): Route['scope'] | undefined {
  return byTemplate.get(template)?.get(method === 'HEAD' ? 'GET' : method);
}

/** Returns the methods of a path template, for `Allow`, with HEAD beside GET; none when there is no such path. */
export function allowedMethods(template: string): string[] {
  return [...(byTemplate.get(template)?.keys() ?? [])].flatMap((method) =>
    method === 'GET' ? ['GET', 'HEAD'] : method,
  );
}
