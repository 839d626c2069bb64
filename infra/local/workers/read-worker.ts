/** The program of a worker that reads large requests of SDKs: what these do to memory and processor, they do there. */
import { readFile } from 'node:fs/promises';
import { type ArrivedRequest, contentOf } from '../../../lib/capture/content.ts';
import { serveTasks } from '../../../lib/workers/serve.ts';

/** A request whose body lies in a file. */
export interface FiledRequest extends Omit<ArrivedRequest, 'body'> {
  readonly file: string;
}

void serveTasks(async () => ({
  read: async ({ file, ...request }: FiledRequest) => contentOf({ ...request, body: await readFile(file) }),
}));
