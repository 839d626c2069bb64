import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { importFiles } from '../../../infra/local/import-files.ts';
import { startBucket } from '../../support/bucket.ts';
import { fileIn, importContext, run } from '../../support/imports.ts';

const line = (name: string): string =>
  `${JSON.stringify({ event: name, distinct_id: 'ada', timestamp: '2025-12-31T00:00:00Z', properties: {} })}\n`;

const places = (input = '') => ({
  resolve: (path: string) => path,
  input: Readable.from([input]),
  environment: process.env,
});

test('a folder is all files below it but what is hidden, in order', async () => {
  const { folder } = await importContext();
  mkdirSync(join(folder, 'logs/b'), { recursive: true });
  mkdirSync(join(folder, 'logs/.git'));
  for (const name of ['b/2.log', 'b/1.log', 'a.log', '.hidden', '.git/x'])
    writeFileSync(join(folder, 'logs', name), '');
  const logs = join(folder, 'logs');
  expect(await importFiles([logs], places())).toEqual(['a.log', 'b/1.log', 'b/2.log'].map((name) => join(logs, name)));
  mkdirSync(join(folder, 'empty'));
  await expect(importFiles([join(folder, 'empty')], places())).rejects.toThrow('There is no file in');
});

test('standard input is imported like a file, packed or not', async () => {
  const context = await importContext();
  const input = Readable.from([gzipSync(line('piped') + 'no event\n')]);
  const files = await importFiles(['-'], { ...places(), input });
  expect(await run(context, files)).toMatchObject({
    added: 1,
    bad: 1,
    rejected: [{ file: 'standard input', line: 2 }],
    files: [{ file: 'standard input', problem: null, rejected: expect.stringContaining('standard input-') }],
  });
});

describe('a bucket', () => {
  const before = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (before[name] === undefined) delete process.env[name];
    Object.assign(process.env, before);
  });

  test('gives the objects whose keys begin with the prefix, one after the other', async () => {
    const context = await importContext();
    const bucket = await startBucket();
    Object.assign(process.env, {
      AWS_ENDPOINT_URL_S3: bucket.url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'AKIATEST',
      AWS_SECRET_ACCESS_KEY: 'secret-of-the-test',
    });
    try {
      const put = (Key: string, Body: string) => bucket.client.putObject({ Bucket: bucket.name, Key, Body });
      await put('logs/2025-12-30.jsonl', line('first'));
      await put('logs/2025-12-31.jsonl', line('second'));
      await put('logs/', ' ');
      await put('other.jsonl', line('other'));
      const files = await importFiles(
        [`s3://${bucket.name}/logs/`, fileIn(context, 'own.jsonl', line('own'))],
        places(),
      );
      expect(await run(context, files)).toMatchObject({
        added: 3,
        files: [
          { file: `s3://${bucket.name}/logs/2025-12-30.jsonl`, events: 1 },
          { file: `s3://${bucket.name}/logs/2025-12-31.jsonl`, events: 1 },
          { file: join(context.folder, 'own.jsonl'), events: 1 },
        ],
      });
      await expect(importFiles([`s3://${bucket.name}/none`], places())).rejects.toThrow('There is no file in s3://');
    } finally {
      await bucket.close();
    }
  });

  test('may have more objects than a call has arguments', async () => {
    const objects = '<Contents><Key>a</Key></Contents>'.repeat(130_000);
    const server = createServer((_, response) => response.end(`<ListBucketResult>${objects}</ListBucketResult>`));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    Object.assign(process.env, {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'AKIATEST',
      AWS_SECRET_ACCESS_KEY: 'secret-of-the-test',
    });
    try {
      expect((await importFiles(['s3://many'], places())).length).toBe(130_000);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
