/** The page's own address: what it names, and what of the view is kept in it. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';

/** Returns a part of the path, such as `project`. */
export function useParam(name: string): string {
  const params: Record<string, string | undefined> = useParams({ strict: false });
  return params[name] ?? '';
}

type Search = Readonly<Record<string, string | number | undefined>>;

/** Returns what the address keeps of the view, and a function that changes some of it; undefined takes it out. */
export function useView(): [Readonly<Record<string, string | undefined>>, (change: Search) => void] {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigate();
  const view = Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]));
  const change = (some: Search): void => {
    const all = Object.entries({ ...search, ...some }).filter(([, value]) => value !== undefined && value !== '');
    void navigate({ to: '.', search: Object.fromEntries(all) });
  };
  return [view, change];
}
