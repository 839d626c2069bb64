import * as z from 'zod';
import { uuid } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { PersonalApiKey, PersonalApiKeyInput, PersonalApiKeyPatch } from './model.ts';

const tag = 'Personal API keys';
const all = ['/api/personal_api_keys'] as const;
const one = ['/api/personal_api_keys/{id}'] as const;
const ofKey = z.object({ id: uuid() });

const NO_MORE =
  'A key never grants more than the key that asks: no other scopes, no other places, no longer life. Such a request ' +
  'is refused with 403.';

export const listPersonalApiKeys = route({
  handler: 'personal-api-keys/list',
  method: 'GET',
  paths: all,
  scope: 'personal_api_key:read',
  summary: 'List personal API keys',
  description: "The caller's keys, newest first, without their values: a plain array, at most ten.",
  tag,
  params: z.object({}),
  response: z.array(PersonalApiKey),
  status: 200,
});

export const createPersonalApiKey = route({
  handler: 'personal-api-keys/create',
  method: 'POST',
  paths: all,
  scope: 'personal_api_key:write',
  summary: 'Create a personal API key',
  description: `The answer is the only one that shows the value. A user may have ten keys. ${NO_MORE}`,
  tag,
  params: z.object({}),
  body: PersonalApiKeyInput,
  response: PersonalApiKey,
  status: 201,
  idempotent: true,
});

export const retrieveCurrentPersonalApiKey = route({
  handler: 'personal-api-keys/retrieve-current',
  method: 'GET',
  paths: one,
  scope: 'any',
  summary: 'Retrieve the key that asks',
  description: 'What it is called, what it may do, and until when. The only id is `@current`; any valid key may ask.',
  tag,
  params: z.object({ id: z.literal('@current') }),
  response: PersonalApiKey,
  status: 200,
});

export const updatePersonalApiKey = route({
  handler: 'personal-api-keys/update',
  method: 'PATCH',
  paths: one,
  scope: 'personal_api_key:write',
  summary: 'Change a personal API key',
  description: `Its label, scopes, limits and expiry; the value stays. The gateway may let the key do what it could for a minute. ${NO_MORE}`,
  tag,
  params: ofKey,
  body: PersonalApiKeyPatch,
  response: PersonalApiKey,
  status: 200,
});

export const destroyPersonalApiKey = route({
  handler: 'personal-api-keys/destroy',
  method: 'DELETE',
  paths: one,
  scope: 'personal_api_key:write',
  summary: 'Delete a personal API key',
  description: 'The gateway may remember it for a minute.',
  tag,
  params: ofKey,
  status: 204,
});

export const rollPersonalApiKey = route({
  handler: 'personal-api-keys/roll',
  method: 'POST',
  paths: ['/api/personal_api_keys/{id}/roll'],
  scope: 'personal_api_key:write',
  summary: 'Give a personal API key another value',
  description: `The answer is the only one that shows it; the old value is void. ${NO_MORE}`,
  tag,
  params: ofKey,
  response: PersonalApiKey,
  status: 200,
});
