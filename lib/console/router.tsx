import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
} from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { PAGES } from './pages.ts';
import { useParam } from './parts/address.ts';
import { Failed } from './parts/failed.tsx';
import { NotFound } from './parts/not-found.tsx';
import { OfferedKey } from './parts/offered-key.tsx';
import { Shell } from './parts/shell.tsx';
import { SignedIn } from './parts/signed-in.tsx';
import { Start } from './parts/start.tsx';

/**
 * Returns a page whose code is loaded when it is needed. Where it is not loaded, that is said in its place: the router
 * would reload by itself, and while the service is away the browser has nothing to show then.
 */
const lazyPage = (load: () => Promise<{ readonly default: ComponentType }>) =>
  lazyRouteComponent(() =>
    load().catch((cause: unknown) => {
      throw new Error('The page was not loaded.', { cause });
    }),
  );

const root = createRootRoute({
  component: () => (
    <>
      <Outlet />
      <OfferedKey />
    </>
  ),
  notFoundComponent: NotFound,
});
const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: () => (
    <SignedIn>
      <Outlet />
    </SignedIn>
  ),
});
const start = createRoute({ getParentRoute: () => signedIn, path: '/', component: Start });
/** Whoever has its link may know where it leads. */
const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invites/$id',
  component: lazyPage(() => import('./pages/invitation.tsx')),
});
/** Who cuts an address short is at the project. */
const project = createRoute({
  getParentRoute: () => signedIn,
  path: '/projects/$project',
  component: () => <Navigate to={`/projects/${useParam('project')}/home`} replace />,
});
const inProject = createRoute({ getParentRoute: () => signedIn, id: 'project', component: Shell });
const pages = PAGES.map(({ path, load }) =>
  createRoute({
    getParentRoute: () => inProject,
    path,
    component: lazyPage(load),
    // What a page holds of one object is nothing to the next one.
    remountDeps: ({ params }) => params,
  }),
);

/** The place of an entry among those of the browser’s history. */
const PLACE = '__TSR_index';

/**
 * Gives an entry its place that has none, as by an address that was pasted. Without one the router takes it for the first,
 * and does not know which way “back” goes; nor does it once the page is loaded again, where the entry has no key.
 */
function placeEntry(): void {
  if (history.state?.[PLACE] !== undefined) return;
  const key = Math.random().toString(36).slice(2);
  const place = router.history.location.state[PLACE] + 1;
  const state = { key, __TSR_key: key, ...history.state, [PLACE]: place };
  // Past the router, which would take it for an address that the page itself has changed.
  History.prototype.replaceState.call(history, state, '');
}

// The router listens as well, from when it is made: those who listen are told in the order in which they came.
window.addEventListener('popstate', placeEntry);

export const router = createRouter({
  // What stands in the fragment reaches no server: neither its logs nor those of what lies between.
  history: createHashHistory(),
  routeTree: root.addChildren([invitation, signedIn.addChildren([start, project, inProject.addChildren(pages)])]),
  defaultPreload: 'intent',
  defaultErrorComponent: Failed,
});
