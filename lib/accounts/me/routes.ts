import * as z from 'zod';
import { route } from '../../http/route.ts';
import { Me } from './model.ts';

export const retrieveMe = route({
  handler: 'users/retrieve-me',
  method: 'GET',
  paths: ['/api/users/{user__uuid}'],
  scope: 'user:read',
  summary: 'Retrieve the caller',
  description:
    'Who asks, their organizations, and what `@current` stands for. The only id is `@me`. A key that is limited to ' +
    'organizations or projects may ask too, and is told of these only.',
  tag: 'Users',
  params: z.object({ user__uuid: z.literal('@me') }),
  response: Me,
});
