import { endpoint } from '../../lib/api/endpoint.ts';
import { uploadImport } from '../../lib/imports/routes.ts';
import { readImport, uploadPart } from '../../lib/imports/store.ts';

export const handler = endpoint(uploadImport, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  run: async ({ read, query: { offset = 0 }, bytes }, context) => ({
    bytes_uploaded: await uploadPart(context, read, offset, bytes()),
    bytes: read.bytes,
  }),
});
