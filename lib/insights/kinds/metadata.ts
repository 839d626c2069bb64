/** HogQLMetadata: whether a query of HogQL can be asked, and else what is in the way. */
import * as z from 'zod';
import { Refusal } from '../../hogql/refusal.ts';
import { HogQLQuery, questionOf } from './hogql.ts';
import type { Answer, Kind, Metadata, World } from './kind.ts';

const HogQLMetadata = z.looseObject({
  ...HogQLQuery.shape,
  kind: z.literal('HogQLMetadata'),
  language: z.literal('hogQL'),
  // What is empty is told as what cannot be read.
  query: z.string(),
});
type HogQLMetadata = z.output<typeof HogQLMetadata>;

async function answer(asked: HogQLMetadata, world: World): Promise<Answer> {
  const question = await questionOf(asked, world);
  const told = (found: Pick<Metadata, 'errors' | 'table_names'>): Answer => ({
    results: null,
    metadata: {
      isValid: found.errors.length === 0,
      query: asked.query,
      warnings: [],
      notices: [],
      ...found,
    },
  });
  try {
    return told({ errors: [], table_names: await world.tables(question) });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { message, span } = error;
    const errors = [{ message, start: span?.start ?? null, end: span?.end ?? null }];
    return told({ errors, table_names: [] });
  }
}

export const metadata: Kind<HogQLMetadata> = { name: 'HogQLMetadata', schema: HogQLMetadata, answer };
