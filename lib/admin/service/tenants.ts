/** Organizations and projects, as whoever asks may see them. */
import type * as z from 'zod';
import type { Organization } from '../../accounts/organizations/model.ts';
import type { Project } from '../../accounts/organizations/projects/model.ts';
import { plain } from '../../basics/plain.ts';
import { type Asked, listing, type ServiceCommand } from './command.ts';

type ProjectObject = z.output<typeof Project>;

const PROJECT = ['project', 'Projects'] as const;

const projects = '/api/organizations/@current/projects/';

export const TENANT_COMMANDS: readonly ServiceCommand[] = [
  listing<z.output<typeof Organization>>({
    group: ['organization', 'Organizations'],
    spec: 'list',
    description: 'List your organizations',
    path: () => '/api/organizations/',
    header: ['ID', 'NAME'],
    row: ({ id, name }) => [id, name],
    empty: 'No organizations.',
  }),
  listing<ProjectObject>({
    group: PROJECT,
    spec: 'list',
    description: 'List the projects of your first organization',
    path: () => projects,
    header: ['ID', 'NAME', 'TOKEN'],
    row: ({ id, name, api_token }) => [id, name, api_token],
    empty: 'No projects.',
  }),
  {
    group: PROJECT,
    spec: 'create <name>',
    description: 'Make a project in your first organization',
    run: async ({ client, words }) => {
      const made = await client.send<ProjectObject>('POST', projects, { name: words[0] });
      return { object: made, text: `Made project "${plain(made.name)}": ${made.id}, token ${made.api_token}` };
    },
  },
  {
    group: PROJECT,
    spec: 'rotate-token',
    description: 'Give the project another token; the one before ends at once',
    options: (command) => command.option('--keep-old-for-a-day', 'the one before works for another day'),
    run: async ({ client, of, options }: Asked<{ keepOldForADay?: boolean }>) => {
      const body = { keep_old_for_a_day: options.keepOldForADay === true };
      const found = await client.send<ProjectObject>('POST', of('/reset_token/'), body);
      return { object: found, text: `The token of "${plain(found.name)}" is now ${found.api_token}` };
    },
  },
];
