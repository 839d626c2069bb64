import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { rollPersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { readHeldKeys, rollKey } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(rollPersonalApiKey, {
  read: ({ params, caller }, context) => readHeldKeys(context, caller, params.id),
  async run({ read, caller: { memberships }, activity: tell }, context) {
    const { item, value } = await rollKey(context, read, { tell, memberships });
    return new Answer(personalApiKeyObject(item, value), { version: item.ver });
  },
});
