import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { personalApiKeyObject } from '../../lib/personal-api-keys/model.ts';
import { updatePersonalApiKey } from '../../lib/personal-api-keys/routes.ts';
import { changeKey, readHeldKeys } from '../../lib/personal-api-keys/store.ts';

export const handler = endpoint(updatePersonalApiKey, {
  read: ({ params, caller }, context) => readHeldKeys(context, caller, params.id),
  async run({ read, body, ifMatch, caller: { memberships }, activity: tell }, context) {
    const changed = await changeKey(context, read, body, { tell, memberships }, ifMatch);
    return new Answer(personalApiKeyObject(changed), { version: changed.ver });
  },
});
