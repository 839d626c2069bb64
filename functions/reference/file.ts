import { endpoint } from '../../lib/http/endpoint.ts';
import { referenceFile } from '../../lib/http/reference.ts';
import { retrieveReferenceFile } from '../../lib/http/routes.ts';

export const handler = endpoint(retrieveReferenceFile, ({ params }) => referenceFile(params.file));
