/** The key that somebody has signed in with: kept in the tab, or on the device when they ask for it. */
import { useSyncExternalStore } from 'react';

const NAME = 'workspace-key';

const listeners = new Set<() => void>();
let known = localStorage.getItem(NAME) ?? sessionStorage.getItem(NAME);

/** Returns the key's value; null: nobody is signed in. */
export const sessionKey = (): string | null => known;

/** Keeps the key in this tab, with `remember` in this browser. */
export function signIn(key: string, remember: boolean): void {
  forget();
  (remember ? localStorage : sessionStorage).setItem(NAME, key);
  known = key;
  tell();
}

export function signOut(): void {
  forget();
  tell();
}

/** Goes on with another value of the same key, kept where the one of before was. */
export function replaceKey(key: string): void {
  (localStorage.getItem(NAME) === known ? localStorage : sessionStorage).setItem(NAME, key);
  known = key;
  tell();
}

function forget(): void {
  localStorage.removeItem(NAME);
  sessionStorage.removeItem(NAME);
  known = null;
}

function tell(): void {
  for (const listener of listeners) listener();
}

// Who signs out in one tab, or goes on with another value, does so in all that have the same key of the device.
window.addEventListener('storage', ({ key, oldValue, newValue }) => {
  if (key !== NAME || oldValue === null || oldValue !== known) return;
  known = newValue ?? sessionStorage.getItem(NAME);
  tell();
});

/** Returns the key's value, and renders again when it changes. */
export function useSessionKey(): string | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, sessionKey);
}

/** Takes a key out of the page's fragment (`#key=phx_…`), where a link for the first visit carries it. */
export function takeKeyOfLink(): void {
  const [, key, rest = ''] = /^#key=([^&]+)(?:&(.*))?$/.exec(location.hash) ?? [];
  if (key === undefined) return;
  const address = new URL(location.href);
  address.hash = rest === '' ? '/' : rest;
  history.replaceState(null, '', address);
  // A fragment is ASCII, as a key is: one that was mangled is refused as any that is not known.
  signIn(key, false);
}
