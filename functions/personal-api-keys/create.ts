import { personalApiKeyObject } from '../../lib/accounts/personal-api-keys/model.ts';
import { createPersonalApiKey } from '../../lib/accounts/personal-api-keys/routes.ts';
import { createKey, readHeldKeys } from '../../lib/accounts/personal-api-keys/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';

export const handler = endpoint(createPersonalApiKey, {
  read: ({ caller }, context) => readHeldKeys(context, caller),
  async run({ body, read: { user, maker }, caller: { memberships }, once, activity: tell }, context) {
    const making = { maker, once, teller: { tell, memberships } };
    const { item, value } = await createKey(context, { user, ...body }, making);
    return new Answer(personalApiKeyObject(item, value), { version: item.ver });
  },
  async replay(id, { caller }, context) {
    const { item } = await readHeldKeys(context, caller, id);
    return new Answer(personalApiKeyObject(item), { version: item.ver });
  },
});
