import { endpoint } from '../../lib/api/endpoint.ts';
import { changedConfig } from '../../lib/exports/resource/change.ts';
import { runTestStep } from '../../lib/exports/resource/routes.ts';
import { sharedPlacesWarning } from '../../lib/exports/resource/shared-places.ts';
import { foundExport, readExport } from '../../lib/exports/resource/store.ts';
import { runStep } from '../../lib/exports/resource/test-steps.ts';

export const handler = endpoint(runTestStep, {
  read: ({ params }, { table }) => readExport(table, params.id),
  found: foundExport,
  async run({ read, caller, body: { step, ...patch } }, context) {
    const { fields, ...tested } = await changedConfig(context, read, patch);
    const writer = { ...read, ...fields, ...tested };
    return runStep(
      context,
      { ...tested, planned: writer, shared: () => sharedPlacesWarning(context, writer) },
      { organization: read.organization_id, user: caller.userId },
      step,
    );
  },
});
