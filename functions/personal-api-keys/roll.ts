import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { rollPersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { readUserKeys, rollKey } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(rollPersonalApiKey, {
  read: ({ params, caller }, context) => readUserKeys(context, caller, params.id),
  async run({ read, ifMatch, caller: { memberships }, activityOps }, context) {
    const { item, value } = await rollKey(context, read, { activityOps, memberships }, ifMatch);
    return new Answer(personalApiKeyObject(item, value), { version: item.ver });
  },
});
