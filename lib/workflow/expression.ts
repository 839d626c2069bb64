import jsonata from 'jsonata';
import { getOrMake } from '../basics/maps.ts';
import { messageOf } from '../basics/text.ts';
import { type ErrorOutput, MAX_PAYLOAD } from './messages.ts';
import { StateError } from './state-error.ts';
import type { Json } from './workflow.ts';

/** The value of `$states`, which is all that an expression may look at. */
export interface StatesVariable {
  readonly input: Json;
  readonly result?: Json;
  readonly errorOutput?: ErrorOutput;
  readonly context: {
    readonly Execution: { readonly Name: string };
    readonly State: { readonly RetryCount: number };
    /** In an ItemSelector only. */
    readonly Map?: { readonly Item: { readonly Value: Json } };
  };
}

/** The parts of `$states`; each field of a state may use those that exist where it is evaluated. */
export type StatesField = 'input' | 'result' | 'errorOutput' | 'context.Map.Item.Value';

const ALWAYS = ['context.Execution.Name', 'context.State.RetryCount'];

/**
 * JSONata's own functions that AWS and this engine have: none that AWS takes away (`$eval`) or adds (`$uuid` ...), or
 * that differs from call to call (`$now`, `$random` ...), for after a crash an expression is evaluated again.
 */
// biome-ignore format: a list of words
const FUNCTIONS = new Set([
  'abs', 'append', 'boolean', 'ceil', 'contains', 'count', 'distinct', 'exists', 'floor', 'join', 'keys', 'length',
  'lookup', 'lowercase', 'max', 'merge', 'min', 'not', 'number', 'pad', 'replace', 'reverse', 'round', 'split', 'string',
  'substring', 'substringAfter', 'substringBefore', 'sum', 'trim', 'type', 'uppercase',
]);

const compiled = new Map<string, jsonata.Expression>();

/** Returns the JSONata inside `{% … %}`, or undefined for a plain string. */
export function jsonataIn(text: string): string | undefined {
  return text.startsWith('{%') && text.endsWith('%}') ? text.slice(2, -2).trim() : undefined;
}

/** Yields every expression inside a template. */
export function* expressionsIn(template: Json): Generator<string> {
  if (typeof template === 'string') {
    const text = jsonataIn(template);
    if (text !== undefined) yield text;
  } else if (typeof template === 'object' && template !== null) {
    for (const value of Object.values(template)) yield* expressionsIn(value);
  }
}

/** Returns why an expression is outside the subset, or undefined for one that is inside. */
export function refusalOf(expression: string, parts: readonly StatesField[]): string | undefined {
  try {
    return refusalOfNode(compile(expression).ast(), [...ALWAYS, ...parts]);
  } catch (error) {
    return `does not compile: ${messageOf(error)}`;
  }
}

function refusalOfNode(node: unknown, allowed: readonly string[]): string | undefined {
  if (typeof node !== 'object' || node === null) return undefined;
  const { type, value, steps, procedure } = node as { [name: string]: unknown };
  let parts: unknown[] = Object.values(node);
  if (type === 'path' && Array.isArray(steps) && steps[0]?.type === 'variable' && steps[0].value === 'states') {
    const path = steps.slice(1).map((step) => (step.type === 'name' ? String(step.value) : '?'));
    const known = allowed.some((part) => path.slice(0, part.split('.').length).join('.') === part);
    if (!known) return `uses $states.${path.join('.')}, of which there is here only ${allowed.join(', ')}`;
    parts = steps.slice(1);
  } else if (type === 'function') {
    const called = (procedure as { value?: unknown }).value;
    if (typeof called !== 'string' || !FUNCTIONS.has(called)) return `calls $${String(called)}`;
    parts = [(node as { arguments?: unknown }).arguments];
  } else if (type === 'variable' && value !== '') {
    return `uses the variable $${String(value)}`;
  } else if (type === 'lambda' || type === 'bind' || type === 'partial' || type === 'transform') {
    return `has a ${type}`;
  }
  for (const part of parts) {
    const refusal = refusalOfNode(part, allowed);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

const compile = (expression: string): jsonata.Expression => getOrMake(compiled, expression, () => jsonata(expression));

/**
 * Returns the template with each `{% … %}` in it replaced by what it yields. Throws `States.QueryEvaluationError` when
 * an expression fails or yields nothing, and `States.DataLimitExceeded` when the whole has more than 256 KiB.
 */
export async function evaluate(template: Json, states: StatesVariable): Promise<Json> {
  return withinLimit(await fill(template, { states }));
}

/** Returns the value as plain JSON. Throws `States.DataLimitExceeded` when it has more than 256 KiB. */
export function withinLimit(value: Json): Json {
  const text = JSON.stringify(value);
  const size = Buffer.byteLength(text);
  if (size > MAX_PAYLOAD) {
    throw new StateError('States.DataLimitExceeded', `A payload has ${size} bytes, of at most ${MAX_PAYLOAD}.`);
  }
  return JSON.parse(text) as Json;
}

async function fill(template: Json, bindings: { states: StatesVariable }): Promise<Json> {
  if (typeof template === 'string') {
    const expression = jsonataIn(template);
    return expression === undefined ? template : await yieldOf(expression, bindings);
  }
  if (Array.isArray(template)) return Promise.all(template.map((value) => fill(value, bindings)));
  if (typeof template !== 'object' || template === null) return template;
  const filled = Object.entries(template).map(async ([name, value]) => [name, await fill(value, bindings)] as const);
  return Object.fromEntries(await Promise.all(filled));
}

async function yieldOf(expression: string, bindings: { states: StatesVariable }): Promise<Json> {
  let value: unknown;
  try {
    value = await compile(expression).evaluate(undefined, bindings);
  } catch (error) {
    throw new StateError('States.QueryEvaluationError', `The expression ${expression} failed: ${messageOf(error)}`);
  }
  if (value === undefined || typeof value === 'function') {
    throw new StateError('States.QueryEvaluationError', `The expression ${expression} yields nothing.`);
  }
  return value as Json;
}
