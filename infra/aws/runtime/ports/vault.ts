import { KMSClient } from '@aws-sdk/client-kms';
import { kmsVault } from '../../../../lib/ports/vault/kms.ts';
import { variable } from '../environment.ts';

export const vault = () => kmsVault({ client: new KMSClient(), keyId: variable('KEY_ARN') });
