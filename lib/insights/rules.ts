import { invalid } from '../ports/errors.ts';
import type { InsightItem } from './model.ts';

/** Bytes that an insight may hold (decisions: 100 KB). */
const MAX_BYTES = 100 * 1024;

/** 400 when what is written is too large to be stored; of a tile's insight `attr` names the tile. */
export function checkInsightSize(written: Partial<InsightItem>, attr: string | null = null): void {
  if (Buffer.byteLength(JSON.stringify(written)) > MAX_BYTES) {
    invalid(attr, `An insight may hold at most ${MAX_BYTES / 1024} KB.`);
  }
}
