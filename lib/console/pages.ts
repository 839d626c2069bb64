/** Every page of the console: its address, what stands in the menu, and the file that is loaded when it is opened. */
import type { ComponentType } from 'react';

interface PageRow {
  /** The path in the fragment. `$project` is a project's number. */
  readonly path: string;
  /** The word in the menu; absent: it is reached from another page. */
  readonly menu?: string;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

export const PAGES: readonly PageRow[] = [
  { path: '/projects/$project/home', menu: 'Home', load: () => import('./pages/home.tsx') },
  { path: '/projects/$project/dashboards', menu: 'Dashboards', load: () => import('./pages/dashboards.tsx') },
  { path: '/projects/$project/dashboards/$id', load: () => import('./pages/dashboard.tsx') },
  { path: '/projects/$project/insights', menu: 'Insights', load: () => import('./pages/insights.tsx') },
  { path: '/projects/$project/insights/$id', load: () => import('./pages/insight.tsx') },
  { path: '/projects/$project/alerts', menu: 'Alerts', load: () => import('./pages/alerts.tsx') },
  { path: '/projects/$project/alerts/$id', load: () => import('./pages/alert.tsx') },
  {
    path: '/projects/$project/subscriptions',
    menu: 'Subscriptions',
    load: () => import('./pages/subscriptions.tsx'),
  },
  { path: '/projects/$project/subscriptions/$id', load: () => import('./pages/subscription.tsx') },
  { path: '/projects/$project/events', menu: 'Events', load: () => import('./pages/events.tsx') },
  { path: '/projects/$project/persons', menu: 'Persons', load: () => import('./pages/persons.tsx') },
  { path: '/projects/$project/persons/$id', load: () => import('./pages/person.tsx') },
  { path: '/projects/$project/exports', menu: 'Exports', load: () => import('./pages/exports.tsx') },
  { path: '/projects/$project/exports/new', load: () => import('./pages/new-export.tsx') },
  { path: '/projects/$project/exports/$id', load: () => import('./pages/export.tsx') },
  { path: '/projects/$project/import', menu: 'Import', load: () => import('./pages/import.tsx') },
  { path: '/projects/$project/people', menu: 'People', load: () => import('./pages/people.tsx') },
  { path: '/projects/$project/keys', menu: 'Keys', load: () => import('./pages/keys.tsx') },
  { path: '/projects/$project/activity', menu: 'Activity log', load: () => import('./pages/activity.tsx') },
  { path: '/projects/$project/settings', menu: 'Settings', load: () => import('./pages/settings.tsx') },
];
