/** Where messages lead: to the console, by the service's own address. Null where it does not know that. */
import type { Context } from '../ports/context.ts';

type Addressed = Pick<Context, 'settings'>;

const linkTo = ({ settings: { publicUrl } }: Addressed, path: string): string | null =>
  publicUrl === null ? null : `${publicUrl}/#/projects/${path}`;

export const insightLink = (context: Addressed, project: number, id: number): string | null =>
  linkTo(context, `${project}/insights/${id}`);

export const dashboardLink = (context: Addressed, project: number, id: number): string | null =>
  linkTo(context, `${project}/dashboards/${id}`);
