import * as z from 'zod';
import { type JsonText, toJsonText } from '../ports/table/json-text.ts';
import { text } from './fields.ts';

/** Returns a field of tags. */
export const tagList = () => z.array(text({ max: 255 }));

/** Returns tags as JSON text: trimmed, in lower case, each once. */
export function tagTexts(sent: readonly string[]): JsonText<string[]> {
  return toJsonText([...new Set(sent.map((tag) => tag.trim().toLowerCase()))]);
}
