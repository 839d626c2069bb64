import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from '@tanstack/react-router';
import { PAGES } from './pages.ts';
import { NotFound } from './parts/not-found.tsx';
import { Shell } from './parts/shell.tsx';
import { SignedIn } from './parts/signed-in.tsx';
import { Start } from './parts/start.tsx';

const root = createRootRoute({
  component: () => (
    <SignedIn>
      <Outlet />
    </SignedIn>
  ),
  notFoundComponent: NotFound,
});

const start = createRoute({ getParentRoute: () => root, path: '/', component: Start });
const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invites/$id',
  component: lazyRouteComponent(() => import('./pages/invitation.tsx')),
});
const inProject = createRoute({ getParentRoute: () => root, id: 'project', component: Shell });
const pages = PAGES.map(({ path, load }) =>
  createRoute({ getParentRoute: () => inProject, path, component: lazyRouteComponent(load) }),
);

export const router = createRouter({
  // What stands in the fragment reaches no server: neither its logs nor those of what lies between.
  history: createHashHistory(),
  routeTree: root.addChildren([start, invitation, inProject.addChildren(pages)]),
  defaultPreload: 'intent',
});
