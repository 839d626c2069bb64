import { endpoint } from '../../lib/http/endpoint.ts';
import { Answer } from '../../lib/http/request.ts';
import { personalApiKeyObject } from '../../lib/personal-api-keys/model.ts';
import { createPersonalApiKey } from '../../lib/personal-api-keys/routes.ts';
import { createKey, readHeldKeys } from '../../lib/personal-api-keys/store.ts';

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
