import { rawNumber } from '../../../lib/basics/raw-number.ts';
import { refuseUnsupported } from '../../../lib/http/unsupported.ts';
import { Failure } from '../../../lib/ports/errors.ts';

const FIELDS = { password: null, zone: 'UTC', open: true, 'tiles.color.name': null } as const;

function refusal(body: unknown): unknown {
  try {
    refuseUnsupported(FIELDS, body);
    return undefined;
  } catch (error) {
    return error instanceof Failure ? [error.body.attr, error.message] : error;
  }
}

test.each([
  [{}],
  ['no object'],
  [{ password: null, zone: null, open: null }],
  [{ password: false }],
  [{ password: 'false' }],
  [{ password: 0 }],
  [{ password: rawNumber('0.0') }],
  [{ password: '' }],
  [{ password: [] }],
  [{ password: { a: false, b: [null], c: {} } }],
  [{ zone: 'UTC' }],
  [{ zone: 'utc' }],
  [{ open: true }],
  [{ open: 'True' }],
  [{ tiles: [{}, { color: null }, { color: { name: '' } }] }],
  [{ tiles: 5 }],
])('%j changes nothing', (body) => {
  expect(refusal(body)).toBeUndefined();
});

test.each([
  [{ password: true }, 'password', "'password' is not supported here. Leave it out."],
  [{ password: 'yes' }, 'password', "'password' is not supported here. Leave it out."],
  [{ password: { a: { b: 1 } } }, 'password', "'password' is not supported here. Leave it out."],
  [{ password: [0, 1] }, 'password', "'password' is not supported here. Leave it out."],
  [{ zone: 'Europe/Berlin' }, 'zone', `'zone' is not supported here. Leave it out, or send "UTC".`],
  [{ zone: '' }, 'zone', `'zone' is not supported here. Leave it out, or send "UTC".`],
  [{ open: false }, 'open', "'open' is not supported here. Leave it out, or send true."],
  [{ tiles: [{}, { color: { name: 'red' } }] }, 'tiles__1__color__name', "'name' is not supported here. Leave it out."],
])('%j is refused', (body, attr, detail) => {
  expect(refusal(body)).toEqual([attr, detail]);
});
