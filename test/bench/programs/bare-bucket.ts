/** As much of S3's protocol as a delivery needs, on a server that forgets what it is given: the cost of sending. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tell } from '../program.ts';

const BEGUN = '<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>';
const LISTS = '<ListBucketResult></ListBucketResult>';
const DONE = '<CompleteMultipartUploadResult><ETag>"one"</ETag></CompleteMultipartUploadResult>';
let bytes = 0;
const server = createServer((request, response) => {
  const { method, url = '' } = request;
  request.on('data', (chunk: Buffer) => {
    if (method === 'PUT') bytes += chunk.length;
  });
  request.once('end', () => {
    const begins = method === 'POST' && url.includes('?uploads');
    const text = begins ? BEGUN : method === 'POST' ? DONE : method === 'GET' ? LISTS : '';
    response.writeHead(200, { 'Content-Type': 'application/xml', ETag: '"one"' }).end(text);
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  tell({ address: `http://127.0.0.1:${port}` });
});
process.once('SIGTERM', () => {
  tell({ bytes });
  process.exit(0);
});
