import { invalid } from '../ports/errors.ts';
import type { InsightItem } from './model.ts';

/** An insight holds at most so many bytes. */
const MAX_BYTES = 100 * 1024;

/** Throws a 400 when an insight is too large to be stored; `attr` names the field that holds it. */
export function checkInsightSize(written: Partial<InsightItem>, attr: string | null = null): void {
  if (Buffer.byteLength(JSON.stringify(written)) > MAX_BYTES) {
    invalid(attr, `An insight may hold at most ${MAX_BYTES / 1024} KB.`);
  }
}
