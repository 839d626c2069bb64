import { patchProjectToken } from '../../lib/accounts/organizations/projects/routes.ts';
import { resetting } from './reset-token.ts';

export const handler = resetting(patchProjectToken);
