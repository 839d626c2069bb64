/** The key that somebody has signed in with: kept in the tab, or on the device when they ask for it. */
import { useSyncExternalStore } from 'react';

const NAME = 'workspace-key';
/** In the place of a remembered key that works no longer, for a moment: tells other tabs why it goes. */
const VOID = '';

const listeners = new Set<() => void>();
const nextVisitorActs = new Set<() => void>();
let known = kept();
/** The key that was refused while somebody worked with it; null: none was. */
let ended: string | null = null;
/** Counts those who have signed in one after the other. */
let visitor = 0;
/** The key of a link that was opened while somebody was signed in with another one, and where it leads; null: there is none. */
let offer: { readonly key: string; readonly to: string } | null = null;

/** Returns the key's value; null: nobody is signed in. */
export const sessionKey = (): string | null => known;

/**
 * Keeps the key for this tab, with `remember` in this browser. `goesOn`: it is of the user whose session has ended, and
 * other tabs that have the key of before go on as this one does.
 */
export function signIn(key: string, remember: boolean, goesOn = false): void {
  if (remember) {
    sessionStorage.removeItem(NAME);
    if (!goesOn || localStorage.getItem(NAME) !== ended) localStorage.removeItem(NAME);
    localStorage.setItem(NAME, key);
  } else {
    if (ended !== null) takeAway(ended);
    sessionStorage.setItem(NAME, key);
  }
  known = key;
  ended = null;
  if (!goesOn) beginVisit();
  tell();
}

/**
 * Forgets the key, in the tab and on the device. With another one that the device remembers the tab goes on, as a reload
 * would: whoever leaves sees that somebody is signed in there.
 */
export function signOut(): void {
  if (localStorage.getItem(NAME) === known) localStorage.removeItem(NAME);
  sessionStorage.removeItem(NAME);
  known = kept();
  ended = null;
  beginVisit();
  tell();
}

/** Does without the key, which the service knows no longer. What is on the page waits for another one. */
export function endSession(): void {
  ended = known ?? ended;
  known = null;
  tell();
}

/** Does without a key that the service has never known here: with that of the device, if there is another one. */
export function dropKey(): void {
  if (known !== null) takeAway(known);
  known = kept();
  beginVisit();
  tell();
}

/** Goes on with another value of the same key, kept where the one of before was. */
export function replaceKey(key: string): void {
  for (const storage of [sessionStorage, localStorage]) {
    if (storage.getItem(NAME) === known) storage.setItem(NAME, key);
  }
  known = key;
  tell();
}

/** Calls it whenever somebody else may be here from now on, before anything is shown to them. */
export const onNextVisitor = (act: () => void): void => void nextVisitorActs.add(act);

/** Returns the key of the tab, or else that of the device. */
function kept(): string | null {
  return sessionStorage.getItem(NAME) || localStorage.getItem(NAME) || null;
}

/** Keeps a key no longer, which works no longer. In other tabs that have it, what is written waits for another one. */
function takeAway(key: string): void {
  if (sessionStorage.getItem(NAME) === key) sessionStorage.removeItem(NAME);
  if (localStorage.getItem(NAME) !== key) return;
  localStorage.setItem(NAME, VOID);
  localStorage.removeItem(NAME);
}

function beginVisit(): void {
  visitor += 1;
  for (const act of nextVisitorActs) act();
}

function tell(): void {
  for (const listener of listeners) listener();
}

// Who signs out in one tab, or goes on with another key, does so in all that have the same key of the device.
window.addEventListener('storage', ({ key, oldValue, newValue }) => {
  if (key !== NAME || oldValue === null || (oldValue !== known && oldValue !== ended)) return;
  if (newValue === VOID) return endSession();
  known = newValue ?? sessionStorage.getItem(NAME);
  ended = null;
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
  hasEnded: useSyncExternalStore(listen, () => ended !== null),
  visitor: useSyncExternalStore(listen, () => visitor),
});

/** Returns the key of a link that was opened while somebody was signed in with another one; null: there is none. */
export const useOfferedKey = (): string | null => useSyncExternalStore(listen, () => offer?.key ?? null);

/** Goes where the link leads, with its key instead of that of the tab. What is remembered on the device stays. */
export function takeOffer(): void {
  if (offer === null) return;
  const { key, to } = offer;
  offer = null;
  signIn(key, false);
  // The router sees what is done with the history.
  history.replaceState(history.state, '', addressOf(to));
}

/** Does without the key of the link. */
export function leaveOffer(): void {
  offer = null;
  tell();
}

/** Returns the address of another view. */
function addressOf(view: string): URL {
  const address = new URL(location.href);
  address.hash = view;
  return address;
}

/**
 * Takes a key out of the page's fragment (`#key=phx_…`), where a link for the first visit carries it. Who is signed in
 * with another one stays so until they say otherwise.
 */
function takeKeyOfLink(): void {
  const [, key, rest = ''] = /^#key=([^&]+)(?:&(.*))?$/.exec(location.hash) ?? [];
  if (key === undefined) return;
  const to = rest === '' ? '/' : rest;
  // Past the router, which is told of the address afterwards, and asks before something is left.
  History.prototype.replaceState.call(history, null, '', addressOf(to));
  // A fragment is ASCII, as a key is: one that was mangled is refused as any that is not known.
  if (known === null) return signIn(key, false);
  offer = key === known ? null : { key, to };
  tell();
}

takeKeyOfLink();
// Such a link is also opened where the console is open already: then the fragment alone changes. The router, which would
// take the key for a path, listens as well, and later.
window.addEventListener('popstate', takeKeyOfLink, { capture: true });
