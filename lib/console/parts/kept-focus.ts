import { useLayoutEffect, useRef } from 'react';

/**
 * Returns what the element around a list takes, so that who removes something of it by the keyboard goes on from there:
 * with what is removed the focus is gone, also that of its dialog.
 */
export function useKeptFocus(shown: unknown) {
  const ref = useRef<HTMLDivElement>(null);
  const hadFocus = useRef(false);
  useLayoutEffect(() => {
    if (shown === undefined || !hadFocus.current || document.activeElement !== document.body) return;
    ref.current?.focus({ preventScroll: true });
  }, [shown]);
  return {
    ref,
    tabIndex: -1,
    onFocus: () => {
      hadFocus.current = true;
    },
    onBlur: () => {
      hadFocus.current = false;
    },
  };
}
