import { KMSClient } from '@aws-sdk/client-kms';
import { SECOND_MS } from '../../../../lib/basics/units.ts';
import { kmsVault } from '../../../../lib/ports/vault/kms.ts';
import { variable } from '../environment.ts';
import { answersWithin } from '../timeouts.ts';

/** Three attempts and their waits fit into the request that seals what it brings. */
const KMS_TIMEOUT_MS = 2.5 * SECOND_MS;

export const vault = () =>
  kmsVault({
    client: new KMSClient({ requestHandler: answersWithin(KMS_TIMEOUT_MS) }),
    keyId: variable('KEY_ARN'),
  });
