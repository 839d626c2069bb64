import { endpoint } from '../../lib/api/endpoint.ts';
import { referenceFile } from '../../lib/api/reference.ts';
import { retrieveReferenceFile } from '../../lib/api/reference-routes.ts';

export const handler = endpoint(retrieveReferenceFile, ({ params }) => referenceFile(params.file));
