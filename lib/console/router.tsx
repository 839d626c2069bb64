import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  Outlet,
} from '@tanstack/react-router';
import { PAGES } from './pages.ts';
import { useParam } from './parts/address.ts';
import { Failed } from './parts/failed.tsx';
import { NotFound } from './parts/not-found.tsx';
import { OfferedKey } from './parts/offered-key.tsx';
import { Shell } from './parts/shell.tsx';
import { SignedIn } from './parts/signed-in.tsx';
import { Start } from './parts/start.tsx';

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
  component: lazyRouteComponent(() => import('./pages/invitation.tsx')),
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
    component: lazyRouteComponent(load),
    // What a page holds of one object is nothing to the next one.
    remountDeps: ({ params }) => params,
  }),
);

export const router = createRouter({
  // What stands in the fragment reaches no server: neither its logs nor those of what lies between.
  history: createHashHistory(),
  routeTree: root.addChildren([invitation, signedIn.addChildren([start, project, inProject.addChildren(pages)])]),
  defaultPreload: 'intent',
  defaultErrorComponent: Failed,
});
