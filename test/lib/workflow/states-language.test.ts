import { readFileSync } from 'node:fs';
import { DefinitionRefused, readDefinition } from '../../../lib/workflow/states-language.ts';

const end = { Type: 'Succeed' };
const work = {
  Type: 'Task',
  Resource: 'arn:aws:states:::lambda:invoke',
  Arguments: { FunctionName: '${work}', Payload: {} },
  Next: 'End',
};
const map = {
  Type: 'Map',
  Items: '{% $states.input.items %}',
  ItemProcessor: { ProcessorConfig: { Mode: 'INLINE' }, StartAt: 'Item', States: { Item: end } },
  Next: 'End',
};
const machine = (A: object, more: object = {}, top: object = {}) => ({
  QueryLanguage: 'JSONata',
  StartAt: 'A',
  States: { A, End: end, ...more },
  ...top,
});

/**
 * What earlier versions have stored of the machines, from layout 1 of a data directory on, each once: the machine and its
 * definition. Executions that were begun on one go on with it after an upgrade, so a line is added and never changed.
 */
const STORED = readFileSync(new URL('stored-definitions.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n');

const refusalOf = (definition: unknown): string => {
  try {
    readDefinition('m', definition);
  } catch (error) {
    expect(error).toBeInstanceOf(DefinitionRefused);
    return (error as Error).message;
  }
  return 'accepted';
};

test('what earlier versions have stored is accepted: executions go on with it after an upgrade', () => {
  const stored = STORED.map((line) => JSON.parse(line) as { readonly machine: string; readonly definition: unknown });
  expect(stored.length).toBeGreaterThan(30);
  const refused = stored.map(({ definition }) => refusalOf(definition)).filter((why) => why !== 'accepted');
  expect(refused).toEqual([]);
});

test('what is in the subset is accepted', () => {
  expect(refusalOf(machine(work))).toBe('accepted');
  expect(refusalOf(machine(map))).toBe('accepted');
  expect(refusalOf(machine({ ...work, Comment: 'said', TimeoutSeconds: 60 }, {}, { TimeoutSeconds: 5 }))).toBe(
    'accepted',
  );
});

test.each([
  [
    'another query language',
    machine(work, {}, { QueryLanguage: 'JSONPath' }),
    'field QueryLanguage: Invalid input: expected "JSONata"',
  ],
  [
    'a field of the machine',
    machine(work, {}, { Version: '1.0' }),
    'field Version: is not in the subset of the language',
  ],
  ['variables', machine({ ...work, Assign: { x: 1 } }), 'state A, field Assign: is not in the subset of the language'],
  [
    'a JSONPath field',
    machine({ ...work, ResultPath: '$.x' }),
    'state A, field ResultPath: is not in the subset of the language',
  ],
  ['a heartbeat', machine({ ...work, HeartbeatSeconds: 5 }), 'state A, field HeartbeatSeconds: is not'],
  [
    'a field of a retrier',
    machine({ ...work, Retry: [{ ErrorEquals: ['X'], Jitter: 1 }] }),
    'state A, field Retry.0.Jitter: is not',
  ],
  ['Parallel', machine({ Type: 'Parallel', Branches: [], Next: 'End' }), 'state A, field Type:'],
  ['another resource', machine({ ...work, Resource: 'arn:aws:states:::sqs:sendMessage' }), 'state A, field Resource:'],
  [
    'a function by its ARN',
    machine({ ...work, Arguments: { FunctionName: 'arn:aws:lambda:x', Payload: {} } }),
    'state A, field Arguments.FunctionName: must be a reference',
  ],
  [
    'a wait for a timestamp',
    machine({ Type: 'Wait', Timestamp: '2026-01-01T00:00:00Z', Next: 'End' }),
    'state A, field',
  ],
  [
    'a distributed Map',
    machine({ ...map, ItemProcessor: { ...map.ItemProcessor, ProcessorConfig: { Mode: 'DISTRIBUTED' } } }),
    'state A, field ItemProcessor.ProcessorConfig.Mode:',
  ],
  ['a reader of items', machine({ ...map, ItemReader: {} }), 'state A, field ItemReader: is not'],
  [
    'a Map in a Map',
    machine({ ...map, ItemProcessor: { ...map.ItemProcessor, States: { Item: map } } }),
    'state Item, field Type:',
  ],
  [
    'Items that are no expression',
    machine({ ...map, Items: '$.items' }),
    'state A, field Items: must be a JSONata expression',
  ],
])('%s is refused, with the place', (_, definition, message) => {
  expect(refusalOf(definition)).toContain(`State machine m, ${message}`);
});

test.each([
  ['a start that is not there', machine(work, {}, { StartAt: 'Z' }), 'field StartAt: there is no state Z'],
  ['a next state that is not there', machine({ ...work, Next: 'Z' }), 'state A, field Next: there is no state Z'],
  [
    'a caught state that is not there',
    machine({ ...work, Catch: [{ ErrorEquals: ['X'], Next: 'toString' }] }),
    'there is no state toString',
  ],
  ['neither Next nor End', machine({ Type: 'Pass' }), 'state A, field Next: needs either Next or End'],
  ['both Next and End', machine({ ...work, End: true }), 'state A, field Next: needs either Next or End'],
  ['a state that nothing leads to', machine(work, { Lost: end }), 'state Lost: is never reached'],
  [
    'two states of one name',
    machine({ ...map, ItemProcessor: { ...map.ItemProcessor, StartAt: 'End', States: { End: end } } }),
    'has the name of another state',
  ],
  [
    'a loop that does nothing',
    machine({ Type: 'Choice', Choices: [{ Condition: '{% true %}', Next: 'A' }], Default: 'End' }),
    'state A: is in a loop in which nothing is done',
  ],
  [
    'States.ALL beside others',
    machine({ ...work, Retry: [{ ErrorEquals: ['States.ALL', 'X'] }] }),
    'state A, field Retry: States.ALL must be alone and last',
  ],
  [
    'States.ALL before others',
    machine({
      ...work,
      Catch: [
        { ErrorEquals: ['States.ALL'], Next: 'End' },
        { ErrorEquals: ['X'], Next: 'End' },
      ],
    }),
    'state A, field Catch: States.ALL must be alone and last',
  ],
])('%s is refused, since it cannot work', (_, definition, message) => {
  expect(refusalOf(definition)).toContain(`State machine m, `);
  expect(refusalOf(definition)).toContain(message);
});

test.each([
  ['$states.input.', 'does not compile'],
  ['$uuid()', 'calls $uuid'],
  ['$eval("1")', 'calls $eval'],
  ['$now()', 'calls $now'],
  ['$x', 'uses the variable $x'],
  ['($x := 1; 2)', 'has a bind'],
  ['function($v) { 1 }', 'has a lambda'],
  ['$states', 'uses the variable $states'],
  ['$states.result.Payload', 'uses $states.result.Payload, of which there is here only'],
  ['$states.context.Execution.Id', 'uses $states.context.Execution.Id'],
  ['$states.input[$states.context.Task.Token = 1]', 'uses $states.context.Task.Token'],
  ['$states.*', 'uses $states.?'],
])('the expression %s is refused', (expression, message) => {
  const template = [{ deep: `{% ${expression} %}` }];
  const definition = machine({ ...work, Arguments: { FunctionName: '${work}', Payload: template } });
  expect(refusalOf(definition)).toContain(`State machine m, state A, field Arguments: the expression ${expression} `);
  expect(refusalOf(definition)).toContain(message);
});

test('each field may use the parts that exist there', () => {
  const output = (expression: string) => machine({ ...work, Output: `{% ${expression} %}` });
  expect(refusalOf(output('$states.result.Payload & $states.context.Execution.Name'))).toBe('accepted');
  expect(refusalOf(output('$states.errorOutput.Error'))).toContain('field Output');
  expect(refusalOf(output('$states.context.Map.Item.Value'))).toContain('field Output');
  const caught = machine({
    ...work,
    Catch: [{ ErrorEquals: ['X'], Output: '{% $states.errorOutput.Cause %}', Next: 'End' }],
  });
  expect(refusalOf(caught)).toBe('accepted');
  expect(refusalOf(machine({ ...map, ItemSelector: { v: '{% $states.context.Map.Item.Value %}' } }))).toBe('accepted');
});

test('nonsense is refused, not crashed on', () => {
  for (const value of [null, 1, 'x', [], {}, { QueryLanguage: 'JSONata', StartAt: '__proto__', States: {} }]) {
    expect(refusalOf(value)).toContain('State machine m, ');
  }
});
