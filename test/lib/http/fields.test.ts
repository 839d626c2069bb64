import * as fc from 'fast-check';
import * as z from 'zod';
import {
  boolean,
  choice,
  datetime,
  failureOfIssues,
  freeObject,
  integer,
  nullableBoolean,
  reference,
  text,
  uuid,
} from '../../../lib/http/fields.ts';
import { wireInstant } from '../../../lib/http/instant.ts';
import { parseJson } from '../../../lib/http/json.ts';

/** The value as read, or `code: detail` of the fault, with the field's name when it is not `f`. */
function read(schema: z.ZodType, value: unknown): unknown {
  const result = z.object({ f: schema }).safeParse(value === undefined ? {} : { f: value }, { reportInput: true });
  if (result.success) return (result.data as { f?: unknown }).f;
  const { attr, code, detail, type } = failureOfIssues(result.error).body;
  expect(type).toBe('validation_error');
  return `${attr === 'f' ? '' : `${attr} `}${code}: ${detail}`;
}

const kinds: [string, () => z.ZodType][] = [
  ['text', text],
  ['boolean', boolean],
  ['integer', integer],
  ['choice', () => choice(['a'])],
  ['uuid', uuid],
  ['reference', reference],
  ['datetime', datetime],
  ['free object', freeObject],
  ['list', () => z.array(text())],
  ['nested object', () => z.object({ a: text() })],
  ['plain string', z.string],
  ['plain enum', () => z.enum(['a'])],
];

describe.each(kinds)('%s', (_, kind) => {
  test('is required and not null, unless it says otherwise', () => {
    expect(read(kind(), undefined)).toBe('required: This field is required.');
    expect(read(kind(), null)).toBe('null: This field may not be null.');
    expect(read(kind().optional(), undefined)).toBeUndefined();
    expect(read(kind().nullable(), null)).toBeNull();
  });

  test('never throws, whatever is sent', () => {
    expect(() => fc.assert(fc.property(fc.jsonValue(), (value) => void read(kind(), value)))).not.toThrow();
  });
});

describe('text', () => {
  test.each([
    [' a b ', 'a b'],
    [5, '5'],
    [1.5, '1.5'],
    [0, '0'],
    ['😀', '😀'],
    ['__proto__', '__proto__'],
    [true, 'invalid_input: Not a valid string.'],
    [['a'], 'invalid_input: Not a valid string.'],
    [{}, 'invalid_input: Not a valid string.'],
    ['', 'blank: This field may not be blank.'],
    [' \n\t', 'blank: This field may not be blank.'],
    ['a\u0000b', 'null_characters_not_allowed: Null characters are not allowed.'],
    ['a\ud800b', 'surrogate_characters_not_allowed: Surrogate characters are not allowed: U+D800.'],
    ['\udc00', 'surrogate_characters_not_allowed: Surrogate characters are not allowed: U+DC00.'],
  ])('%j is read as %j', (value, expected) => {
    expect(read(text(), value)).toBe(expected);
  });

  test('keeps a number that JavaScript cannot hold as it was written', () => {
    expect(read(text(), parseJson('12345678901234567890'))).toBe('12345678901234567890');
  });

  test('may be blank, or untrimmed, when it says so', () => {
    expect(read(text({ blank: true }), ' ')).toBe('');
    expect(read(text({ trim: false }), ' a ')).toBe(' a ');
  });

  test('is measured in code points, after trimming', () => {
    const fault = 'max_length: Ensure this field has no more than 3 characters.';
    expect(read(text({ max: 3 }), ' abc ')).toBe('abc');
    expect(read(text({ max: 3 }), '😀😀😀')).toBe('😀😀😀');
    expect(read(text({ max: 3 }), 'abcd')).toBe(fault);
    expect(read(text({ max: 3 }), '😀😀😀😀')).toBe(fault);
  });

  test('whatever passes can be stored as UTF-8 and comes back the same', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
        (value) => {
          const result = text({ blank: true }).safeParse(value);
          const stored = result.data ?? '';
          expect(Buffer.from(stored, 'utf8').toString('utf8')).toBe(stored);
        },
      ),
    );
  });
});

describe('boolean', () => {
  test.each(['t', 'Y', 'yes', 'TRUE', 'on', '1', 1, true])('%j is true', (value) => {
    expect(read(boolean(), value)).toBe(true);
  });
  test.each(['f', 'N', 'no', 'False', 'off', '0', 0, false])('%j is false', (value) => {
    expect(read(boolean(), value)).toBe(false);
  });
  test.each(['maybe', 2, '', 'null', [], {}, [true]])('%j is neither', (value) => {
    expect(read(boolean(), value)).toBe('invalid_input: Must be a valid boolean.');
  });
  test.each(['', 'null', null])('%j is null where null is allowed', (value) => {
    expect(read(nullableBoolean(), value)).toBeNull();
  });
});

describe('integer', () => {
  test.each([
    [5, 5],
    ['5', 5],
    ['-5', -5],
    [' +5 ', 5],
    ['5.0', 5],
    [5.0, 5],
    [0, 0],
  ])('%j is %j', (value, expected) => {
    expect(read(integer(), value)).toBe(expected);
  });
  test.each(['', 'x', 1.5, '1.5', true, [], {}, '9007199254740993', 1e300, '1e3', '0x10'])('%j is none', (value) => {
    expect(read(integer(), value)).toBe('invalid_input: A valid integer is required.');
  });
  test('has bounds', () => {
    expect(read(integer({ min: 0, max: 23 }), 24)).toBe('max_value: Ensure this value is less than or equal to 23.');
    expect(read(integer({ min: 0, max: 23 }), '-1')).toBe(
      'min_value: Ensure this value is greater than or equal to 0.',
    );
  });
});

describe('choice', () => {
  test('takes a value or its text', () => {
    expect(read(choice([21, 37]), 37)).toBe(37);
    expect(read(choice([21, 37]), '37')).toBe(37);
    expect(read(choice(['hour', 'day']), 'day')).toBe('day');
  });
  test.each([
    [99, '99'],
    ['99', '99'],
    ['', ''],
    [true, 'True'],
    [[37], '[37]'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
  ])('%j is not a choice', (value, shown) => {
    expect(read(choice([21, 37]), value)).toBe(
      `invalid_choice: "${shown}" is not a valid choice. Choose one of: 21, 37.`,
    );
  });
  test('a plain enum has the same text', () => {
    expect(read(z.enum(['a']), '__proto__')).toBe(
      'invalid_choice: "__proto__" is not a valid choice. Choose one of: a.',
    );
  });
  test('repeats only the beginning of a long value', () => {
    expect(read(choice(['a']), '😀'.repeat(100_000))).toHaveLength(
      'invalid_choice: "" is not a valid choice. Choose one of: a.'.length + 200,
    );
  });
});

describe('uuid', () => {
  const id = '019a0000-0000-7000-8000-0000000000ab';
  test.each([id, id.toUpperCase(), id.replaceAll('-', ''), `{${id}}`, `urn:uuid:${id}`])('%s is read', (value) => {
    expect(read(uuid(), value)).toBe(id);
  });
  test.each(['', 'x', `${id}0`, 5, true, [id]])('%j is none', (value) => {
    expect(read(uuid(), value)).toBe('invalid_input: Must be a valid UUID.');
  });
  test('a reference has its own texts', () => {
    expect(read(reference(), id)).toBe(id);
    expect(read(reference(), 'x')).toBe('invalid_input: “x” is not a valid UUID.');
    expect(read(reference(), true)).toBe('incorrect_type: Incorrect type. Expected pk value, received bool.');
  });
});

describe('datetime', () => {
  test.each([
    ['2024-02-29T10:20:30Z', '2024-02-29T10:20:30Z'],
    ['2024-02-29t10:20:30z', '2024-02-29T10:20:30Z'],
    ['2024-02-29 10:20', '2024-02-29T10:20:00Z'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
    ['2024-02-29T10:20:30.5+02:00', '2024-02-29T08:20:30.500000Z'],
    ['2024-02-29T10:20:30.123456-0930', '2024-02-29T19:50:30.123000Z'],
    ['2024-02-29T10:20:30+01', '2024-02-29T09:20:30Z'],
    ['2024-02-29T10', '2024-02-29T10:00:00Z'],
    ['2024-02-29T10Z', '2024-02-29T10:00:00Z'],
    ['2024-02-29T10-05', '2024-02-29T15:00:00Z'],
    ['20240229T102030Z', '2024-02-29T10:20:30Z'],
    ['20240229 1020+0200', '2024-02-29T08:20:00Z'],
    ['20240229T10:20:30,25Z', '2024-02-29T10:20:30.250000Z'],
    ['2024-02-29T102030.5Z', '2024-02-29T10:20:30.500000Z'],
    ['20240229', '2024-02-29T00:00:00Z'],
    ['2024-02-29T10:20:30.1234567890123Z', '2024-02-29T10:20:30.123000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ])('%s is %s', (value, expected) => {
    expect(wireInstant(read(datetime(), value) as number)).toBe(expected);
  });
  test.each([
    '',
    'x',
    '2023-02-29',
    '2024-13-01',
    '2024-01-01T24:00:00Z',
    '2024-01-01T10:60:00Z',
    '2024-01-01T10:00:60Z',
    '2024-0101',
    '202401-01',
    '20240101T10:2030',
    '20240101T1020:30',
    '2024-01-01T10.5',
    '20240230',
    '2024010',
    '2024-01-01T10:00:00+24:00',
    '2024-01-01T10:00:00+01:60',
    '0000-01-01',
    '24-01-01',
    'Infinity',
    1704067200,
    true,
    [],
    {},
  ])('%j is none', (value) => {
    expect(read(datetime(), value)).toBe(
      'invalid_input: Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].',
    );
  });
  test.each(['0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00'])('%s is out of range', (value) => {
    expect(read(datetime(), value)).toBe('overflow: Datetime value out of range.');
  });
  test('whatever instant is answered is read back', () => {
    const instants = fc.integer({ min: Date.parse('0001-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59Z') });
    fc.assert(fc.property(instants, (instant) => expect(read(datetime(), wireInstant(instant))).toBe(instant)));
  });
});

describe('free object', () => {
  test('is handed on as it is', () => {
    const value = parseJson('{"__proto__":{"a":[1,null]},"constructor":"x"}');
    expect(read(freeObject(), value)).toBe(value);
  });
  test.each([
    ['x', 'str'],
    [5, 'int'],
    [1.5, 'float'],
    [true, 'bool'],
    [[], 'list'],
  ])('%j is none', (value, name) => {
    expect(read(freeObject(), value)).toBe(`invalid_input: Invalid data. Expected a dictionary, but got ${name}.`);
  });

  test.each([{ a: { b: ['x\u0000'] } }, { a: [[0, [{ 'b\u0000': 1 }]]] }, { 'a\u0000': 1 }])(
    '%j holds a null character',
    (value) => {
      expect(read(freeObject(), value)).toBe('null_characters_not_allowed: Null characters are not allowed.');
    },
  );
});

describe('faults', () => {
  const Thing = z.object({
    name: text(),
    inner: z.object({ level: integer() }).optional(),
    tags: z
      .array(text({ max: 3 }))
      .max(2)
      .optional(),
  });
  const body = (value: unknown) => {
    const result = Thing.safeParse(value, { reportInput: true });
    if (result.success) throw new Error('expected a fault');
    const { attr, code, detail } = failureOfIssues(result.error).body;
    return [attr, code, detail];
  };

  test('only the first is told, in the order of the fields', () => {
    expect(body({ tags: 5, inner: 5 })).toEqual(['name', 'required', 'This field is required.']);
    expect(body({ tags: 5, inner: 5, name: 'a' })).toEqual([
      'inner',
      'invalid_input',
      'Invalid data. Expected a dictionary, but got int.',
    ]);
  });

  test('nested names are joined', () => {
    expect(body({ name: 'a', inner: { level: 'x' } })).toEqual([
      'inner__level',
      'invalid_input',
      'A valid integer is required.',
    ]);
    expect(body({ name: 'a', tags: ['ok', 'long!'] })).toEqual([
      'tags__1',
      'max_length',
      'Ensure this field has no more than 3 characters.',
    ]);
  });

  test('lists say what came instead, and how many they take', () => {
    expect(body({ name: 'a', tags: 'x' })).toEqual([
      'tags',
      'not_a_list',
      'Expected a list of items but got type "str".',
    ]);
    expect(body({ name: 'a', tags: ['a', 'b', 'c'] })).toEqual([
      'tags',
      'max_length',
      'Ensure this field has no more than 2 elements.',
    ]);
  });

  test.each([
    [[], 'Invalid data. Expected a dictionary, but got list.'],
    ['x', 'Invalid data. Expected a dictionary, but got str.'],
    [5, 'Invalid data. Expected a dictionary, but got int.'],
    [false, 'Invalid data. Expected a dictionary, but got bool.'],
  ])('a body %j is no object', (value, detail) => {
    expect(body(value)).toEqual([null, 'invalid_input', detail]);
  });

  test('a body null is no data', () => {
    expect(body(null)).toEqual([null, 'null', 'No data provided']);
  });

  test('a rule of the whole object names no field', () => {
    const Ruled = Thing.refine(({ name }) => name !== 'bad', 'That name is bad.');
    const result = Ruled.safeParse({ name: 'bad' }, { reportInput: true });
    expect(failureOfIssues(result.error as z.ZodError).body).toMatchObject({
      attr: null,
      code: 'invalid_input',
      detail: 'That name is bad.',
    });
  });
});

test('the kinds describe themselves as JSON Schema', () => {
  const schema = z.object({
    name: text({ max: 5 }),
    note: text({ blank: true }).optional(),
    on: nullableBoolean(),
    size: integer({ min: 0 }),
    level: choice([21, 37]),
    at: datetime(),
    about: freeObject(),
  });
  expect(z.toJSONSchema(schema, { io: 'input' })).toMatchObject({
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 5 },
      note: { type: 'string' },
      on: { type: ['boolean', 'null'] },
      size: { type: 'integer', minimum: 0 },
      level: { type: 'integer', enum: [21, 37] },
      at: { type: 'string', format: 'date-time' },
      about: { type: 'object', additionalProperties: true },
    },
    required: ['name', 'on', 'size', 'level', 'at', 'about'],
  });
});
