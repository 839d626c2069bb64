import * as fc from 'fast-check';
import { isRawNumber } from '../../../lib/basics/raw-number.ts';
import { parseJson } from '../../../lib/http/json.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const refusal = (text: string): string => {
  try {
    parseJson(text);
    return 'parsed';
  } catch (error) {
    return (error as Error).message.replace('JSON parse error - ', '');
  }
};

// The texts are those of CPython's json module, which PostHog answers with.
test.each([
  ['{a}', 'Expecting property name enclosed in double quotes: line 1 column 2 (char 1)'],
  ['{"a":1,}', 'Expecting property name enclosed in double quotes: line 1 column 8 (char 7)'],
  ['{', 'Expecting property name enclosed in double quotes: line 1 column 2 (char 1)'],
  ['   ', 'Expecting value: line 1 column 4 (char 3)'],
  ['abc', 'Expecting value: line 1 column 1 (char 0)'],
  ['[1,]', 'Expecting value: line 1 column 4 (char 3)'],
  ['[', 'Expecting value: line 1 column 2 (char 1)'],
  ['{"a":', 'Expecting value: line 1 column 6 (char 5)'],
  ['[tru]', 'Expecting value: line 1 column 2 (char 1)'],
  ['[1 2]', "Expecting ',' delimiter: line 1 column 4 (char 3)"],
  ['[1', "Expecting ',' delimiter: line 1 column 3 (char 2)"],
  ['{"a":1', "Expecting ',' delimiter: line 1 column 7 (char 6)"],
  ['{"a":1\n "b"}', "Expecting ',' delimiter: line 2 column 2 (char 8)"],
  ['{"a" 1}', "Expecting ':' delimiter: line 1 column 6 (char 5)"],
  ['"abc', 'Unterminated string starting at: line 1 column 1 (char 0)'],
  ['{"a":"\\x"}', 'Invalid \\escape: line 1 column 7 (char 6)'],
  ['"\\u12"', 'Invalid \\uXXXX escape: line 1 column 3 (char 2)'],
  ['"\t"', 'Invalid control character at: line 1 column 2 (char 1)'],
  ['[1]x', 'Extra data: line 1 column 4 (char 3)'],
  ['1.', 'Extra data: line 1 column 2 (char 1)'],
  ['-', 'Expecting value: line 1 column 1 (char 0)'],
  ['\ufeff{}', 'Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)'],
  ['{"a":{"b":[1,{"c":}]}}', 'Expecting value: line 1 column 19 (char 18)'],
])('%s is refused with the place and the reason', (text, message) => {
  expect(refusal(text)).toBe(message);
});

test('64 levels are parsed, 65 are not, brackets in strings do not count', () => {
  expect(refusal('['.repeat(64) + ']'.repeat(64))).toBe('parsed');
  expect(refusal('['.repeat(65) + ']'.repeat(65))).toBe('Nested over 64 levels');
  expect(refusal('{"a":'.repeat(65) + 1 + '}'.repeat(65))).toBe('Nested over 64 levels');
  expect(refusal(JSON.stringify('['.repeat(100) + '\\"{{{{'))).toBe('parsed');
  expect(refusal('['.repeat(1_000_000))).toBe('Nested over 64 levels');
});

test('prototype keys are own properties, and the last of two equal keys counts', () => {
  const value = parseJson('{"__proto__":{"admin":true},"constructor":1,"a":1,"a":2}') as Record<string, unknown>;
  expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'a']);
  expect(value['a']).toBe(2);
  expect(({} as { admin?: boolean }).admin).toBeUndefined();
});

test.each(['12345678901234567890', '-9007199254740993', '1e999', '[1E+400,"1e999"]', '{"a":9007199254740993.0}'])(
  '%s is written as it was read',
  (text) => {
    const value = parseJson(text);
    expect(JSON.stringify(value)).toBe(text === '{"a":9007199254740993.0}' ? '{"a":9007199254740992}' : text);
  },
);

test('numbers that JavaScript holds stay numbers', () => {
  expect(parseJson('[9007199254740991,1e308,0.1,1234567890123456.5]')).toEqual([
    9007199254740991, 1e308, 0.1, 1234567890123456.5,
  ]);
  expect(isRawNumber(parseJson('9007199254740993'))).toBe(true);
});

test('what JSON.stringify writes is parsed to the same value', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 20 }), (text) => {
      expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

test('it refuses exactly what JSON.parse refuses, always with a place', () => {
  const alphabet = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    'a',
    '1',
    '-',
    '.',
    'e',
    '\\',
    'u',
    ' ',
    '\n',
    '\t',
    'true',
    'null',
    '"x"',
    '\u0000',
    '\ud800',
  );
  fc.assert(
    fc.property(fc.array(alphabet, { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      let isGood = true;
      try {
        JSON.parse(text);
      } catch {
        isGood = false;
      }
      const message = refusal(text);
      expect(message).toMatch(isGood ? /^parsed$/ : /^(?!Malformed)[A-Z].+: line \d+ column \d+ \(char \d+\)$/);
    }),
    { numRuns: propertyRuns(3000) },
  );
});
