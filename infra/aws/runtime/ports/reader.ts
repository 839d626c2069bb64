import { pooledReader } from '../../../../lib/warehouse/pooled-reader.ts';
import { READING_MS } from '../../../../lib/warehouse/reader.ts';
import { lakeWorkers } from '../lake-workers.ts';
import { type Turning, turnsOf } from '../turns.ts';

/** Rows of the lake. */
export const reader = (context: Turning) => pooledReader(lakeWorkers(context, READING_MS, turnsOf(context, 'read')));
