import type { HttpMethod, Route } from '../../http/route.ts';
import { routes } from '../routes.ts';

type Scopes = Partial<Record<HttpMethod, Route['scope']>>;

function scopesOfRows(): Record<string, Scopes> {
  const all: Record<string, Scopes> = {};
  for (const { paths, method, scope } of routes) {
    for (const path of paths) (all[path] ??= {})[method] = scope;
  }
  return all;
}

/** The scope that a key needs, by path template and method. */
export const scopes: Readonly<Record<string, Readonly<Scopes>>> = scopesOfRows();
