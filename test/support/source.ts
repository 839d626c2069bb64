import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync } from '@swc/core';

/** The root of the repository. */
export const ROOT = join(import.meta.dirname, '..', '..');

export interface Import {
  /** A package, or a path from the root of the repository. */
  readonly from: string;
  /** Gone when the program runs. */
  readonly isType: boolean;
  /** `import * as name`. */
  readonly isNamespace: boolean;
}

/** One file of the program, taken apart. */
export interface Source {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
  /** Texts in quotes. */
  readonly strings: readonly string[];
  /** Template texts with holes: the pieces between the holes. */
  readonly templates: readonly (readonly string[])[];
}

/** All TypeScript files below a folder. */
export function sourcesIn(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true })
    .map((name) => posix.join(folder, String(name)))
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
    .toSorted()
    .map((path) => sourceOf(path, readFileSync(join(ROOT, path), 'utf8')));
}

/** Returns all of these files that some of them reach by imports that are there when the program runs, themselves included. */
export function reached(sources: readonly Source[], ...from: readonly string[]): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const seen = new Set(from);
  for (const path of seen) {
    for (const one of byPath.get(path)?.imports ?? []) if (!one.isType && byPath.has(one.from)) seen.add(one.from);
  }
  return [...seen].toSorted();
}

interface Node {
  readonly type?: string;
  readonly [member: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/** Takes one file apart. */
export function sourceOf(path: string, text: string): Source {
  const imports: Import[] = [];
  const strings: string[] = [];
  const templates: string[][] = [];
  const add = (source: unknown, isType: boolean, isNamespace = false): void => {
    if (!isNode(source)) return;
    const name = textOf(source);
    const from = name.startsWith('.') ? posix.join(posix.dirname(path), name) : name;
    imports.push({ from, isType, isNamespace });
  };
  const visit = (value: unknown): void => {
    if (!isNode(value)) return;
    const { type } = value;
    const isDeclaration =
      type === 'ImportDeclaration' || type === 'ExportNamedDeclaration' || type === 'ExportAllDeclaration';
    if (isDeclaration && isNode(value['source'])) {
      const specifiers = (value['specifiers'] ?? []) as readonly Node[];
      const isNamespace = specifiers.some((one) => one.type === 'ImportNamespaceSpecifier');
      add(value['source'], value['typeOnly'] === true, isNamespace);
      return;
    }
    if (type === 'CallExpression' && isNode(value['callee']) && value['callee'].type === 'Import') {
      const [first] = value['arguments'] as readonly { readonly expression: Node }[];
      add(first?.expression, false);
    }
    if (type === 'StringLiteral') strings.push(textOf(value));
    if (type === 'TemplateLiteral') {
      const pieces = (value['quasis'] as readonly Node[]).map((piece) => String(piece['cooked']));
      if (pieces.length > 1) templates.push(pieces);
    }
    for (const inner of Object.values(value)) visit(inner);
  };
  visit(parseSync(text, { syntax: 'typescript', tsx: path.endsWith('.tsx'), target: 'es2024' }));
  return { path, text, imports, strings, templates };
}

/** The text of a literal, in quotes or in backquotes. */
function textOf(node: Node): string {
  const [piece] = (node['quasis'] ?? []) as readonly Node[];
  return String(node['value'] ?? piece?.['cooked']);
}
