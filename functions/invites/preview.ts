import { invitePreviewObject } from '../../lib/accounts/organizations/invites/model.ts';
import { previewInvite } from '../../lib/accounts/organizations/invites/routes.ts';
import { readInvitePreview } from '../../lib/accounts/organizations/invites/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';

export const handler = endpoint(previewInvite, {
  async run({ params }, context) {
    const { invite, organization, inviter } = await readInvitePreview(context, params.id);
    return invitePreviewObject(invite, organization, inviter);
  },
});
