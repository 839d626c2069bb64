import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { createPersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { createKey, readUserKeys } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(createPersonalApiKey, {
  read: ({ caller }, context) => readUserKeys(context, caller),
  async run({ body, read: { user, maker }, caller: { memberships }, idempotencyOps, activityOps }, context) {
    const making = { maker, idempotencyOps, activity: { activityOps, memberships } };
    const { item, value } = await createKey(context, { user, ...body }, making);
    return new Answer(personalApiKeyObject(item, value), { version: item.ver });
  },
  async replay(id, { caller }, context) {
    const { item } = await readUserKeys(context, caller, id);
    return new Answer(personalApiKeyObject(item), { version: item.ver });
  },
});
