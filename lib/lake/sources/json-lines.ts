/** JSON lines: an object a line, with the fields of `contentOf`. */
import type { LineReader } from './event.ts';
import { contentOfJson } from './fields.ts';

export const readJsonLine: LineReader = contentOfJson;
