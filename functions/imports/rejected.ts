import { endpoint } from '../../lib/api/endpoint.ts';
import { ContentAnswer } from '../../lib/http/answer.ts';
import { offeredImports } from '../../lib/imports/imports.ts';
import { rejectedOfImport } from '../../lib/imports/routes.ts';
import { NEXT_OFFSET, readRejected } from '../../lib/imports/spool.ts';
import { readImport } from '../../lib/imports/store.ts';

export const handler = endpoint(rejectedOfImport, {
  read: ({ params }, context) => readImport(context, params.project_id, params.id),
  async run({ read, query: { offset = 0 } }, context) {
    const { files } = offeredImports(context);
    const { text, next } = await readRejected(files, read, offset);
    const headers = next === undefined ? {} : { [NEXT_OFFSET]: String(next) };
    return new ContentAnswer(text, 'text/plain; charset=utf-8', headers);
  },
});
