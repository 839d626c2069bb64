/**
 * What the program's own questions are parsed to, kept for processes that start later: to parse one takes a tenth of a
 * second and more, as long as a count of a million events, and a worker that has nothing to do soon ends.
 */
import { hash } from 'node:crypto';
import type { Parser } from '../../hogql/parse.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import type { FileStore } from '../../ports/files/files.ts';

/** Returns what parses a question, or takes it from where another process has kept it. */
export const parsedQuestions =
  (parser: Pick<Parser, 'query'>, files: Pick<FileStore, 'read' | 'write'>) =>
  async (hogql: string): Promise<Syntax> => {
    const path = `${hash('sha256', hogql)}.json`;
    const kept = await files
      .read(path)
      .then((text) => text && (JSON.parse(String(text)) as Syntax))
      .catch(() => undefined);
    if (kept !== undefined) return kept;
    const syntax = await parser.query(hogql);
    // Where it cannot be kept, the next process parses it too.
    await files.write(path, JSON.stringify(syntax)).catch(() => {});
    return syntax;
  };
