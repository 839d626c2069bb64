import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { updatePersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { changeKey, readUserKeys } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(updatePersonalApiKey, {
  read: ({ params, caller }, context) => readUserKeys(context, caller, params.id),
  async run({ read, body, ifMatch, caller: { memberships }, activityOps }, context) {
    const changed = await changeKey(context, read, body, { activityOps, memberships }, ifMatch);
    return new Answer(personalApiKeyObject(changed), { version: changed.ver });
  },
});
