import { S3Client } from '@aws-sdk/client-s3';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import { s3Files } from '../../../lib/ports/files/s3.ts';

/** A body may take long, but not pause for long: S3 sends something now and then, also while it joins the parts of an upload. */
const S3_TIMEOUTS = { connectionTimeout: 3 * SECOND_MS, socketTimeout: 30 * SECOND_MS };

/** Returns the files in a bucket. */
export const filesIn = (bucket: string) => s3Files({ client: new S3Client({ requestHandler: S3_TIMEOUTS }), bucket });
