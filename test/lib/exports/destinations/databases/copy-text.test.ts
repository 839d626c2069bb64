import { array, assert, constantFrom, oneof, option, property, string } from 'fast-check';
import { rowsIn, withPlainEscapes } from '../../../../../lib/exports/destinations/databases/copy-text.ts';

/** As PostgreSQL's documentation says: a letter for what ends a value or a row, two backslashes for one. */
const written = (value: string | null): string =>
  value === null
    ? '\\N'
    : value.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
const text = (rows: readonly (readonly (string | null)[])[]): Buffer =>
  Buffer.from(rows.map((row) => `${row.map(written).join('\t')}\n`).join(''));

const value = option(
  array(oneof(constantFrom('\t', '\n', '\r', '\\', 't', 'n', 'N', '☃', ''), string({ unit: 'grapheme' }))).map((all) =>
    all.join(''),
  ),
);
const rows = array(array(value, { minLength: 3, maxLength: 3 }), { minLength: 1 });

test('rows are read as they were written', () => {
  assert(
    property(rows, (given) => {
      expect(rowsIn(text(given))).toEqual(given);
    }),
  );
});

/** As Redshift reads with ESCAPE: the character behind a backslash is itself; nothing ends in it. */
function readWithEscape(file: string): (string | null)[][] {
  const found: (string | null)[][] = [[]];
  let value = '';
  let isNull = false;
  const end = (): void => {
    found.at(-1)?.push(isNull ? null : value);
    [value, isNull] = ['', false];
  };
  for (let at = 0; at < file.length; at += 1) {
    const letter = file[at] ?? '';
    if (letter === '\\') {
      at += 1;
      if (file[at] === 'N' && value === '' && /^[\t\n]/.test(file.slice(at + 1))) isNull = true;
      else value += file[at];
    } else if (letter === '\t') end();
    else if (letter === '\n') {
      end();
      found.push([]);
    } else value += letter;
  }
  return found.slice(0, -1);
}

test('rows with plain escapes are read by Redshift as they were written', () => {
  assert(
    property(rows, (given) => {
      expect(readWithEscape(String(withPlainEscapes(text(given))))).toEqual(given);
    }),
  );
});
