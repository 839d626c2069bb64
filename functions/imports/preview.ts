import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { offeredImports } from '../../lib/imports/imports.ts';
import { readingOptions } from '../../lib/imports/reading-options.ts';
import { previewImport } from '../../lib/imports/routes.ts';
import { partsIn, sizeOf } from '../../lib/imports/spool.ts';
import { readImport } from '../../lib/imports/store.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(previewImport, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  async run({ read, body, tenant }, context) {
    const options = readingOptions(body);
    const imports = offeredImports(context);
    const parts = await partsIn(imports.files, read);
    if (parts.length === 0) fail('conflict', 'Nothing of the file is there. Upload its first part.');
    const paths = parts.map(({ path }) => path);
    const asked = { paths, isWhole: sizeOf(parts) === read.bytes, options };
    return imports.preview(asked, placeIn(tenant).organization.id, context.callerUser);
  },
});
