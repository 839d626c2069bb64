import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './console.css';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { lazy, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { SECOND_MS } from '../basics/units.ts';
import { Refusal } from './client/api.ts';
import { onNextVisitor } from './client/session.ts';
import { LoadedLater } from './parts/loaded-later.tsx';
import { router } from './router.tsx';
import { theme, variables } from './theme.ts';

const RETRIES = 2;

const Notifications = lazy(async () => ({ default: (await import('@mantine/notifications')).Notifications }));

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5 * SECOND_MS,
      // What was refused is refused again; what did not arrive, or came from a service that is busy, may pass.
      retry: (failures, error) => failures < RETRIES && !(error instanceof Refusal && error.status < 500),
    },
  },
});

// What was read for one user is not for the next.
onNextVisitor(() => queries.clear());

const nonce = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? '';
// What holds the page still behind a dialog makes a style sheet, too.
setNonce(nonce);
const place = document.getElementById('console');
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={variables}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <LoadedLater>
          <Notifications position="bottom-right" />
        </LoadedLater>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
