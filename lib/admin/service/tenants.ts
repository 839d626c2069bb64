/** Organizations and projects, as whoever asks may see them. */
import type * as z from 'zod';
import type { Organization } from '../../accounts/organizations/model.ts';
import type { Project } from '../../accounts/organizations/projects/model.ts';
import { plain } from '../../basics/plain.ts';
import { type Asked, type ServiceCommand, withLimit } from './command.ts';
import { table } from './table.ts';

type ProjectObject = z.output<typeof Project>;

const PROJECT = ['project', 'Projects'] as const;

const projects = '/api/organizations/@current/projects/';

export const TENANT_COMMANDS: readonly ServiceCommand[] = [
  {
    group: ['organization', 'Organizations'],
    spec: 'list',
    description: 'List your organizations',
    options: withLimit,
    run: async ({ client, options }: Asked<{ limit: number }>) => {
      const found = await client.list<z.output<typeof Organization>>('/api/organizations/', options.limit);
      return {
        object: found,
        text: table(
          ['ID', 'NAME'],
          found.map(({ id, name }) => [id, name]),
          'No organizations.',
        ),
      };
    },
  },
  {
    group: PROJECT,
    spec: 'list',
    description: 'List the projects of your first organization',
    options: withLimit,
    run: async ({ client, options }: Asked<{ limit: number }>) => {
      const found = await client.list<ProjectObject>(projects, options.limit);
      const rows = found.map(({ id, name, api_token }) => [id, name, api_token]);
      return { object: found, text: table(['ID', 'NAME', 'TOKEN'], rows, 'No projects.') };
    },
  },
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
