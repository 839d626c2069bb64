import { patchProjectToken } from '../../lib/accounts/organizations/projects/routes.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { run } from './reset-token.ts';

export const handler = endpoint(patchProjectToken, run);
