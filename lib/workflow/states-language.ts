/**
 * The subset of the Amazon States Language in which the machines are written, and its only reader: what is in it, Step
 * Functions and the engine run alike. States: Task, Choice, Wait (Seconds), Map (inline, not nested), Pass, Succeed,
 * Fail. Query language: JSONata, without variables. Task resources: `lambda:invoke`, `athena:startQueryExecution.sync`,
 * `states:startExecution.sync:2`. Functions and machines are named `${file-name}`; AWS puts its own names in. Anything
 * else is refused when a definition is read, with the state and the field.
 */
import * as z from 'zod';
import { expressionsIn, jsonataIn, refusalOf, type StatesField } from './expression.ts';
import type { Json } from './workflow.ts';

const Expression = z
  .string()
  .refine((text) => jsonataIn(text) !== undefined, 'must be a JSONata expression between {% and %}');
const Seconds = z.int().min(0).max(99_999_999);
const Reference = z.string().regex(/^\$\{[a-z-]+\}$/, 'must be a reference like ${begin-run}');
const Errors = z.array(z.string().min(1)).min(1).readonly();

const Retrier = z.strictObject({
  ErrorEquals: Errors,
  IntervalSeconds: Seconds.min(1).optional(),
  MaxAttempts: z.int().min(0).max(99_999_999).optional(),
  BackoffRate: z.number().min(1).optional(),
  MaxDelaySeconds: Seconds.min(1).optional(),
  JitterStrategy: z.enum(['FULL', 'NONE']).optional(),
});

const Catcher = z.strictObject({ ErrorEquals: Errors, Output: z.json().optional(), Next: z.string() });

const Common = { Comment: z.string().optional(), Output: z.json().optional() };
const Leaving = { Next: z.string().optional(), End: z.literal(true).optional() };
const Trying = { Retry: z.array(Retrier).readonly().optional(), Catch: z.array(Catcher).readonly().optional() };
const TaskFields = {
  Type: z.literal('Task'),
  TimeoutSeconds: Seconds.min(1).optional(),
  ...Common,
  ...Leaving,
  ...Trying,
};

const Task = z.discriminatedUnion('Resource', [
  z.strictObject({
    Resource: z.literal('arn:aws:states:::lambda:invoke'),
    Arguments: z.strictObject({ FunctionName: Reference, Payload: z.json() }),
    ...TaskFields,
  }),
  z.strictObject({
    Resource: z.literal('arn:aws:states:::athena:startQueryExecution.sync'),
    Arguments: z.strictObject({
      QueryString: z.string(),
      // Definitions that earlier versions have stored have none.
      QueryExecutionContext: z.strictObject({ Database: z.string() }).exactOptional(),
      WorkGroup: z.string(),
    }),
    ...TaskFields,
  }),
  z.strictObject({
    Resource: z.literal('arn:aws:states:::states:startExecution.sync:2'),
    Arguments: z.strictObject({ StateMachineArn: Reference, Name: z.string(), Input: z.json() }),
    ...TaskFields,
  }),
]);
export type Task = z.output<typeof Task>;

const Choice = z.strictObject({
  Type: z.literal('Choice'),
  Choices: z
    .array(z.strictObject({ Condition: Expression, Next: z.string(), Output: z.json().optional() }))
    .min(1)
    .readonly(),
  Default: z.string().optional(),
  ...Common,
});
export type Choice = z.output<typeof Choice>;
const Wait = z.strictObject({
  Type: z.literal('Wait'),
  Seconds: z.union([Seconds, Expression]),
  ...Common,
  ...Leaving,
});
const Pass = z.strictObject({ Type: z.literal('Pass'), ...Common, ...Leaving });
const Succeed = z.strictObject({ Type: z.literal('Succeed'), ...Common });
const Fail = z.strictObject({
  Type: z.literal('Fail'),
  Comment: z.string().optional(),
  Error: z.string(),
  Cause: z.string().optional(),
});

const ItemState = z.discriminatedUnion('Type', [Task, Choice, Wait, Pass, Succeed, Fail]);
const MapState = z.strictObject({
  Type: z.literal('Map'),
  Items: Expression,
  ItemSelector: z.json().optional(),
  MaxConcurrency: z.union([z.int().min(0), Expression]).optional(),
  ItemProcessor: z.strictObject({
    ProcessorConfig: z.strictObject({ Mode: z.literal('INLINE') }),
    StartAt: z.string(),
    States: z.record(z.string(), ItemState),
  }),
  Catch: Trying.Catch,
  ...Common,
  ...Leaving,
});
export type MapState = z.output<typeof MapState>;

const State = z.discriminatedUnion('Type', [Task, Choice, Wait, Pass, Succeed, Fail, MapState]);
export type State = z.output<typeof State>;

const Shape = z.strictObject({
  Comment: z.string().optional(),
  QueryLanguage: z.literal('JSONata'),
  TimeoutSeconds: Seconds.min(1).optional(),
  StartAt: z.string(),
  States: z.record(z.string(), State),
});

/** A state machine as it is written down. */
export type Definition = z.input<typeof Shape>;

/** States and where they begin: a machine, or what a Map does with each item. */
export interface Flow {
  readonly StartAt: string;
  readonly States: Readonly<Record<string, State>>;
}

/** A definition outside the subset, or one that cannot work. The message names state and field. */
export class DefinitionRefused extends Error {
  override readonly name = 'DefinitionRefused';
}

/** Reads the state machine `name`; throws `DefinitionRefused`. */
export function readDefinition(name: string, value: unknown): z.output<typeof Shape> {
  const refuse = (where: string, why: string): never => {
    throw new DefinitionRefused(`State machine ${name}, ${where}: ${why}.`);
  };
  const read = Shape.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    const path = (issue?.path ?? []).map(String);
    const key = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
    const why = key.length > 0 ? 'is not in the subset of the language' : (issue?.message ?? 'is refused');
    return refuse(placeOf([...path, ...key]), why.replace(/\.$/, ''));
  }
  const names = new Set<string>();
  checkFlow(read.data, names, refuse);
  return read.data;
}

/** Returns `States.Begin.Retry.0.Foo` as words: `state Begin, field Retry.0.Foo`. */
function placeOf(path: readonly string[]): string {
  const at = path.lastIndexOf('States');
  const state = at < 0 ? undefined : path[at + 1];
  const field = at < 0 ? path : path.slice(at + 2);
  const words = [state === undefined ? [] : [`state ${state}`], field.length === 0 ? [] : [`field ${field.join('.')}`]];
  return words.flat().join(', ') || 'as a whole';
}

type Refuse = (where: string, why: string) => never;

function checkFlow(flow: Flow, names: Set<string>, refuse: Refuse): void {
  const { StartAt, States } = flow;
  const known = (target: string): boolean => Object.hasOwn(States, target);
  if (!known(StartAt)) refuse('field StartAt', `there is no state ${StartAt}`);
  for (const [name, state] of Object.entries(States)) {
    const at = (field: string): string => `state ${name}, field ${field}`;
    if (names.has(name)) refuse(`state ${name}`, 'has the name of another state');
    names.add(name);
    for (const target of targetsOf(state)) if (!known(target)) refuse(at('Next'), `there is no state ${target}`);
    if (state.Type === 'Task' || state.Type === 'Wait' || state.Type === 'Map' || state.Type === 'Pass') {
      if ((state.Next === undefined) === (state.End === undefined)) refuse(at('Next'), 'needs either Next or End');
    }
    if (state.Type === 'Task') checkNames(state.Retry ?? [], (why) => refuse(at('Retry'), why));
    if (state.Type === 'Task' || state.Type === 'Map') checkNames(state.Catch ?? [], (why) => refuse(at('Catch'), why));
    if (state.Type === 'Map') checkFlow(state.ItemProcessor, names, refuse);
    for (const { field, template, parts } of templatesOf(state)) {
      for (const expression of expressionsIn(template)) {
        const refusal = refusalOf(expression, parts);
        if (refusal !== undefined) refuse(at(field), `the expression ${expression} ${refusal}`);
      }
    }
  }
  const reached = reachedFrom(StartAt, (name) => targetsOf(States[name] as State));
  const lost = Object.keys(States).find((name) => !reached.has(name));
  if (lost !== undefined) refuse(`state ${lost}`, 'is never reached');
  for (const name of Object.keys(States).filter((each) => onlyComputes(States[each] as State))) {
    const next = (each: string) => targetsOf(States[each] as State).filter((to) => onlyComputes(States[to] as State));
    if (next(name).some((to) => reachedFrom(to, next).has(name))) {
      refuse(`state ${name}`, 'is in a loop in which nothing is done');
    }
  }
}

/** Refuses retriers or catchers in which `States.ALL` is not alone and last, as AWS wants it. */
function checkNames(
  list: readonly { readonly ErrorEquals: readonly string[] }[],
  refuse: (why: string) => never,
): void {
  for (const [index, { ErrorEquals }] of list.entries()) {
    if (ErrorEquals.includes('States.ALL') && (ErrorEquals.length > 1 || index < list.length - 1)) {
      refuse('States.ALL must be alone and last');
    }
  }
}

/** Returns whether a state only computes: to run it again, from the state before it, gives the same. */
export function onlyComputes({ Type }: State): boolean {
  return Type === 'Choice' || Type === 'Pass' || Type === 'Succeed' || Type === 'Fail';
}

function targetsOf(state: State): string[] {
  const targets: (string | undefined)[] = [];
  if ('Next' in state) targets.push(state.Next);
  if (state.Type === 'Choice') targets.push(...state.Choices.map(({ Next }) => Next), state.Default);
  if (state.Type === 'Task' || state.Type === 'Map') targets.push(...(state.Catch ?? []).map(({ Next }) => Next));
  return targets.filter((target) => target !== undefined);
}

function reachedFrom(start: string, next: (name: string) => readonly string[]): Set<string> {
  const reached = new Set([start]);
  for (const name of reached) for (const target of next(name)) reached.add(target);
  return reached;
}

/** A field that may hold expressions, with the parts of `$states` that exist when it is evaluated. */
interface Field {
  readonly field: string;
  readonly template: Json;
  readonly parts: readonly StatesField[];
}

function may(field: string, template: Json | undefined, ...parts: StatesField[]): Field[] {
  return template === undefined ? [] : [{ field, template, parts: ['input', ...parts] }];
}

function templatesOf(state: State): Field[] {
  const fields: Field[] = [];
  if (state.Type === 'Task') fields.push(...may('Arguments', state.Arguments));
  if (state.Type === 'Task' || state.Type === 'Map') {
    fields.push(...may('Output', state.Output, 'result'));
    for (const { Output } of state.Catch ?? []) fields.push(...may('Catch', Output, 'errorOutput'));
  } else if (state.Type === 'Fail') {
    fields.push(...may('Error', state.Error), ...may('Cause', state.Cause));
  } else {
    fields.push(...may('Output', state.Output));
  }
  if (state.Type === 'Map') {
    fields.push(...may('Items', state.Items), ...may('MaxConcurrency', state.MaxConcurrency));
    fields.push(...may('ItemSelector', state.ItemSelector, 'context.Map.Item.Value'));
  }
  if (state.Type === 'Wait') fields.push(...may('Seconds', state.Seconds));
  if (state.Type === 'Choice') {
    for (const { Condition, Output } of state.Choices) {
      fields.push(...may('Condition', Condition), ...may('Output', Output));
    }
  }
  return fields;
}
