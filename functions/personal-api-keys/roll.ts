import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { personalApiKeyObject } from '../../lib/personal-api-keys/model.ts';
import { rollPersonalApiKey } from '../../lib/personal-api-keys/routes.ts';
import { readHeldKeys, rollKey } from '../../lib/personal-api-keys/store.ts';

export const handler = endpoint(rollPersonalApiKey, {
  read: ({ params, caller }, context) => readHeldKeys(context, caller, params.id),
  async run({ read, caller: { memberships }, activity: tell }, context) {
    const { item, value } = await rollKey(context, read, { tell, memberships });
    return new Answer(personalApiKeyObject(item, value), { version: item.ver });
  },
});
