import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from '@tanstack/react-router';
import { PAGES } from './pages.ts';
import { Failed } from './parts/failed.tsx';
import { NotFound } from './parts/not-found.tsx';
import { Shell } from './parts/shell.tsx';
import { SignedIn } from './parts/signed-in.tsx';
import { Start } from './parts/start.tsx';

const root = createRootRoute({ notFoundComponent: NotFound });
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
  component: lazyRouteComponent(() => import('./pages/invitation.tsx')),
});
const inProject = createRoute({ getParentRoute: () => signedIn, id: 'project', component: Shell });
const pages = PAGES.map(({ path, load }) =>
  createRoute({
    getParentRoute: () => inProject,
    path,
    component: lazyRouteComponent(load),
    // What a page holds of one object is nothing to the next one.
    remountDeps: ({ params }) => params,
  }),
);

export const router = createRouter({
  // What stands in the fragment reaches no server: neither its logs nor those of what lies between.
  history: createHashHistory(),
  routeTree: root.addChildren([invitation, signedIn.addChildren([start, inProject.addChildren(pages)])]),
  defaultPreload: 'intent',
  defaultErrorComponent: Failed,
});
