/** The page's own address: what it names, and what of the view is kept in it. */
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ChangeEvent, useEffect, useRef, useState } from 'react';
import { TYPING_MS } from './typing.ts';

/** Returns a part of the path, such as `project`. */
export function useParam(name: string): string {
  const params: Record<string, string | undefined> = useParams({ strict: false });
  return params[name] ?? '';
}

type Search = Readonly<Record<string, string | number | undefined>>;

interface Destination {
  readonly to: string;
  readonly search?: object;
  /** It takes the place of this one: “back” leads to the one before. */
  readonly replace?: boolean;
  /** What is written here is saved. */
  readonly ignoreBlocker?: boolean;
}

/**
 * Returns what leads on to another page once something is done. Who has left this one meanwhile stays where they are, with
 * what they write there.
 */
export function useNavigateFromHere(): (to: Destination) => void {
  const navigate = useNavigate();
  const isHere = useRef(false);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  return (to) => {
    if (isHere.current) void navigate(to);
  };
}

/**
 * Returns what the address keeps of the view, and a function that changes some of it as long as the page is there; undefined
 * takes it out. With `replace` “back” does not lead to what was before the change.
 */
export function useView(): [
  Readonly<Record<string, string | undefined>>,
  (change: Search, way?: Pick<Destination, 'replace'>) => void,
] {
  const search: Record<string, unknown> = useSearch({ strict: false });
  const navigate = useNavigateFromHere();
  const view = Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]));
  return [view, (some, way) => navigate({ to: '.', search: changedBy(some), ...way })];
}

const changedBy = (some: Search) => (now: object) =>
  Object.fromEntries(Object.entries({ ...now, ...some }).filter(([, value]) => value !== undefined && value !== ''));

/** Returns the number of the page of a list that the address keeps, the first one being 1, and what leads to another one. */
export function usePage(): [number, (page: number) => void] {
  const [{ page = 1 }, setView] = useView();
  return [Number(page), (next) => setView({ page: next })];
}

type Texts = Readonly<Record<string, string>>;

/**
 * Returns, for the names of fields, what a field takes whose text is kept in the address once nobody types any more, where
 * the list then begins anew. “Back” leads to what was there before anything was typed. When the address changes otherwise, as
 * by “back” or the menu, the fields follow it.
 */
export function useTypedView(names: readonly string[]) {
  const [view, setView] = useView();
  const kept = JSON.stringify(Object.fromEntries(names.map((name) => [name, view[name] ?? ''])));
  const [typed, setTyped] = useState<Texts>(() => JSON.parse(kept));
  const told = useRef(kept);
  /** The address is of what was typed here. */
  const isTyped = useRef(false);
  const settle = useDebouncedCallback((all: Texts) => {
    told.current = JSON.stringify(all);
    setView({ ...all, page: undefined }, { replace: isTyped.current });
    isTyped.current = true;
  }, TYPING_MS);
  useEffect(() => {
    if (kept === told.current) return;
    told.current = kept;
    isTyped.current = false;
    setTyped(JSON.parse(kept));
  }, [kept]);
  return (name: string) => ({
    value: typed[name] ?? '',
    onChange: (next: string | ChangeEvent<HTMLInputElement>): void => {
      const all = { ...typed, [name]: typeof next === 'string' ? next : next.currentTarget.value };
      setTyped(all);
      settle(all);
    },
  });
}
