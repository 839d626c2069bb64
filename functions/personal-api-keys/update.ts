import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { updatePersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { changeKey, readHeldKeys } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(updatePersonalApiKey, {
  read: ({ params, caller }, context) => readHeldKeys(context, caller, params.id),
  async run({ read, body, ifMatch, caller: { memberships }, activity: tell }, context) {
    const changed = await changeKey(context, read, body, { tell, memberships }, ifMatch);
    return new Answer(personalApiKeyObject(changed), { version: changed.ver });
  },
});
