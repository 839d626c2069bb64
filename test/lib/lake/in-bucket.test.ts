import { allFiles } from '../../../lib/lake/catalog.ts';
import { s3Files } from '../../../lib/ports/files/s3.ts';
import { type Bucket, startBucket } from '../../support/bucket.ts';
import { fileIn, importContext, PROJECT, run } from '../../support/imports.ts';

// Each test starts databases; a loaded machine takes its time.
jest.setTimeout(60_000);

let bucket: Bucket;
beforeAll(async () => {
  bucket = await startBucket();
});
afterAll(() => bucket.close());

test('an import into a lake in a bucket knows the events and the persons that are there', async () => {
  const context = { ...(await importContext()), lake: s3Files({ client: bucket.client, bucket: bucket.name }) };
  const line = (distinctId: string, second: number, more: object): string =>
    JSON.stringify({ event: '$set', distinct_id: distinctId, timestamp: 1_700_000_000 + second, ...more });
  const first = [line('ada', 0, { $set: { a: 1 } }), line('bob', 1, { $set: { a: 2 } }), line('eve', 2, {})];
  const file = fileIn(context, 'first.jsonl', first.join('\n'));
  expect(await run(context, file)).toMatchObject({ added: 3, persons: { rows: 2 } });
  expect(await run(context, file)).toMatchObject({ added: 0, known: 3, persons: { rows: 0 } });

  const more = [...first, line('ada', 3, { event: '$identify', properties: { $anon_distinct_id: 'bob' } })];
  const grown = fileIn(context, 'second.jsonl', more.join('\n'));
  expect(await run(context, grown)).toMatchObject({ added: 1, known: 3, persons: { rows: 2 } });

  const files = [
    ...(await allFiles(context.table, PROJECT, 'events')),
    ...(await allFiles(context.table, PROJECT, 'persons')),
  ];
  expect(await bucket.keys()).toEqual(files.map(({ path }) => path).toSorted());
});
