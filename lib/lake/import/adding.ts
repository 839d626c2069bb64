/** What whoever adds rows to the lake does around it: a staging, and the end of what is under way in any case. */
import type { Arrived } from '../arrival.ts';
import type { LakeFile } from '../catalog.ts';
import type { Adder, LakeWriter } from '../lease.ts';
import { BatchWriter } from './batch-writer.ts';
import { openStaging, type StagingOptions } from './staging.ts';
import type { UuidLists } from './uuid-lists.ts';

interface AddingOptions extends StagingOptions {
  /** Lists the files of events in which what is added may be known already, for each batch anew. */
  readonly before: () => Promise<readonly LakeFile[]>;
  readonly arrived: Arrived;
  /** Tell which of those files may hold what. Default: each is looked into. */
  readonly lists?: UuidLists | undefined;
}

/** Returns what `work` does with a writer of batches and the writer's folder, which is gone then. */
export async function adding<T>(
  context: LakeWriter,
  adder: Adder,
  { before, arrived, lists, ...staged }: AddingOptions,
  work: (batches: BatchWriter, folder: string) => Promise<T>,
): Promise<T> {
  return context.databases.use(async (job) => {
    const { folder } = job;
    const staging = await openStaging(job, adder.projectId, staged);
    const batches = new BatchWriter({ context, adder, staging, before, arrived, lists, folder });
    try {
      return await work(batches, folder);
    } finally {
      await batches.settled();
    }
  });
}
