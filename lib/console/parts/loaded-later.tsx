import { Alert } from '@mantine/core';
import { CatchBoundary } from '@tanstack/react-router';
import { type ReactNode, Suspense } from 'react';

interface LoadedLaterProps {
  /** What stands in its place until it is there; absent: nothing, and nobody misses it. */
  readonly fallback?: ReactNode;
  /** What is shown: another one is tried anew where this one has failed. */
  readonly shown?: unknown;
  readonly children: ReactNode;
}

/**
 * A part of a page whose code is loaded when it is needed. Where it is not loaded, as offline or since the service was
 * updated, or fails, it alone is missing: what was written beside it stays.
 */
export function LoadedLater({ fallback, shown, children }: LoadedLaterProps) {
  return (
    <CatchBoundary getResetKey={() => shown} errorComponent={fallback === undefined ? () => null : NotLoaded}>
      <Suspense fallback={fallback}>{children}</Suspense>
    </CatchBoundary>
  );
}

function NotLoaded() {
  return (
    <Alert color="red" variant="outline" role="alert" title="This part of the page is missing">
      It was not loaded, or has failed. Save what you have written, and load the page again.
    </Alert>
  );
}
