/** Placeholders of a query, `{name}`, and what is put in their place: syntax, never text. */
import { refuse } from './refusal.ts';
import type { Syntax } from './syntax.ts';

/** Returns the syntax with every placeholder filled. Throws a `Refusal` for one that has no value. */
export function filled(syntax: Syntax, values: Readonly<Record<string, Syntax>>): Syntax {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    if ('node' in value && value.node === 'Placeholder') return valueOf(value);
    return Object.fromEntries(Object.entries(value).map(([key, below]) => [key, walk(below)]));
  };
  const valueOf = (placeholder: object): Syntax => {
    const name = nameOf(placeholder);
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return value ?? refuse(`The placeholder {${name.slice(0, 100)}} has no value`);
  };
  return walk(syntax) as Syntax;
}

function nameOf(placeholder: object): string {
  const { expr } = placeholder as { readonly expr?: { readonly node?: string; readonly chain?: readonly unknown[] } };
  return expr?.node === 'Field' && expr.chain !== undefined
    ? expr.chain.join('.')
    : refuse('A placeholder is a name in braces, as in {filters}');
}
