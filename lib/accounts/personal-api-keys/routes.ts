import * as z from 'zod';
import { uuid } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { PersonalApiKey, PersonalApiKeyInput, PersonalApiKeyPatch } from './model.ts';

const tag = 'Personal API keys';
const write = { scope: 'personal_api_key:write', tag } as const;
const ofKey = z.object({ id: uuid() });
const all = { paths: ['/api/personal_api_keys'], params: z.object({}) } as const;
const one = { paths: ['/api/personal_api_keys/{id}'], params: ofKey } as const;

const NO_MORE =
  'A key makes no key that grants more than itself, and changes none that does, before or after: no other scopes, no ' +
  'other places, no longer life. Such a request is refused with 403.';

export const listPersonalApiKeys = route({
  ...all,
  handler: 'personal-api-keys/list',
  method: 'GET',
  scope: 'personal_api_key:read',
  summary: 'List personal API keys',
  description: "The caller's keys, newest first, without their values: a plain array, at most ten.",
  tag,
  response: z.array(PersonalApiKey),
});

export const createPersonalApiKey = route({
  ...write,
  ...all,
  handler: 'personal-api-keys/create',
  method: 'POST',
  summary: 'Create a personal API key',
  description: `The answer is the only one that shows the value. A user may have ten keys. ${NO_MORE}`,
  body: PersonalApiKeyInput,
  example: { label: 'Reads numbers', scopes: ['query:read', 'insight:read'] },
  response: PersonalApiKey,
  status: 201,
  idempotent: true,
});

export const retrieveCurrentPersonalApiKey = route({
  handler: 'personal-api-keys/retrieve-current',
  method: 'GET',
  paths: one.paths,
  scope: 'any',
  summary: 'Retrieve the key that asks',
  description: 'What it is called, what it may do, and until when. The only id is `@current`; any valid key may ask.',
  tag,
  params: z.object({ id: z.literal('@current') }),
  response: PersonalApiKey,
});

export const updatePersonalApiKey = route({
  ...write,
  ...one,
  handler: 'personal-api-keys/update',
  method: 'PATCH',
  summary: 'Change a personal API key',
  description: `Its label, scopes, limits and expiry; the value stays. The gateway may let the key do what it could for a minute. ${NO_MORE}`,
  body: PersonalApiKeyPatch,
  example: { label: 'Reads numbers and dashboards' },
  response: PersonalApiKey,
});

export const destroyPersonalApiKey = route({
  ...write,
  ...one,
  handler: 'personal-api-keys/destroy',
  method: 'DELETE',
  summary: 'Delete a personal API key',
  description: 'The gateway may remember it for a minute. A key that grants more than the one that asks stays: 403.',
  status: 204,
});

export const rollPersonalApiKey = route({
  ...write,
  handler: 'personal-api-keys/roll',
  method: 'POST',
  paths: ['/api/personal_api_keys/{id}/roll'],
  conditional: true,
  summary: 'Give a personal API key another value',
  description: `The answer is the only one that shows it; the old value is void. ${NO_MORE}`,
  params: ofKey,
  response: PersonalApiKey,
});
