/** The key that somebody has signed in with: kept in the tab, or on the device when they ask for it. */
import { useSyncExternalStore } from 'react';

const NAME = 'workspace-key';

const listeners = new Set<() => void>();
let known = localStorage.getItem(NAME) ?? sessionStorage.getItem(NAME);
/** Was the key refused while somebody worked with it? */
let hasEnded = false;
/** Counts those who have signed in one after the other. */
let visitor = 0;

/** Returns the key's value; null: nobody is signed in. */
export const sessionKey = (): string | null => known;

/** Keeps the key in this tab, with `remember` in this browser. `goesOn`: it is of the user whose session has ended. */
export function signIn(key: string, remember: boolean, goesOn = false): void {
  forget();
  (remember ? localStorage : sessionStorage).setItem(NAME, key);
  known = key;
  if (!goesOn) visitor += 1;
  tell();
}

export function signOut(): void {
  forget();
  tell();
}

/** Does without the key, which the service knows no longer. What is on the page waits for another one. */
export function endSession(): void {
  known = null;
  hasEnded = true;
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
  hasEnded = false;
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

const listen = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Returns the key's value, and renders again when it changes. */
export const useSessionKey = (): string | null => useSyncExternalStore(listen, sessionKey);

/** Returns whether somebody is signed in, or was until the key was refused; and what is another one for another user. */
export const useSession = () => ({
  key: useSessionKey(),
  hasEnded: useSyncExternalStore(listen, () => hasEnded),
  visitor: useSyncExternalStore(listen, () => visitor),
});

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
