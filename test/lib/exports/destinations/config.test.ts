import { rawNumber } from '../../../../lib/basics/raw-number.ts';
import { checkedConfig, checkSameType } from '../../../../lib/exports/destinations/config.ts';
import type { Config } from '../../../../lib/exports/destinations/destination.ts';
import { merge, splitSecrets } from '../../../../lib/exports/destinations/secrets.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { refusal, refused } from '../../../support/refusals.ts';
import { sampleDestination } from '../../../support/sample-destination.ts';

const MINIMAL = { host: 'db.example.com', dataset_id: 'd', password: 'hunter2' };

const DEFAULTS = {
  token: null,
  port: 5432,
  has_self_signed_cert: false,
  role: null,
  mode: 'INSERT',
  copy_inputs: null,
};

const checked = (sent: Config, stored?: Config): Config =>
  checkedConfig(sampleDestination, sent, stored, { model: 'events' }, LOCAL_SETTINGS);

describe('a config of a new export', () => {
  test('has its defaults filled in', () => {
    expect(checked(MINIMAL)).toStrictEqual({ ...MINIMAL, ...DEFAULTS });
  });

  test.each([
    [{ port: '6543' }, { port: 6543 }],
    [{ port: ' +6543 ' }, { port: 6543 }],
    [{ has_self_signed_cert: 'True' }, { has_self_signed_cert: true }],
    [{ has_self_signed_cert: 'off' }, { has_self_signed_cert: false }],
    [{ role: '5432' }, { role: '5432' }],
    [{ exclude_events: ['$pageview', '🐍'] }, { exclude_events: ['$pageview', '🐍'] }],
    [
      { include_events: [], exclude_events: null },
      { include_events: [], exclude_events: null },
    ],
    [{ interval: 'hour' }, {}],
  ])('%j becomes %j', (sent, becomes) => {
    expect(checked({ ...MINIMAL, ...sent })).toStrictEqual({ ...MINIMAL, ...DEFAULTS, ...becomes });
  });

  test.each<[Config, string]>([
    [{ ...MINIMAL, hello2: 1, hello: 2 }, "Configuration has unknown field/s: 'hello', 'hello2'"],
    [{ ...MINIMAL, constructor: 1 }, "Configuration has unknown field/s: 'constructor'"],
    [JSON.parse('{"__proto__": {"port": 1}}'), "Configuration has unknown field/s: '__proto__'"],
    [{ host: 'h', password: 'p' }, "Configuration missing required field: 'dataset_id'"],
    [{}, "Configuration missing required field: 'host'"],
    [{ ...MINIMAL, host: 1 }, "Configuration has invalid type: got 'int', expected 'str'"],
    [{ ...MINIMAL, host: 1.5 }, "Configuration has invalid type: got 'float', expected 'str'"],
    [{ ...MINIMAL, host: true }, "Configuration has invalid type: got 'bool', expected 'str'"],
    [{ ...MINIMAL, host: null }, "Configuration has invalid type: got 'NoneType', expected 'str'"],
    [{ ...MINIMAL, host: ['h'] }, "Configuration has invalid type: got 'list', expected 'str'"],
    [{ ...MINIMAL, host: { a: 1 } }, "Configuration has invalid type: got 'dict', expected 'str'"],
    [{ ...MINIMAL, port: 'many' }, "Configuration has invalid type: got 'str', expected 'int'"],
    [{ ...MINIMAL, port: 1.5 }, "Configuration has invalid type: got 'float', expected 'int'"],
    [{ ...MINIMAL, port: null }, "Configuration has invalid type: got 'NoneType', expected 'int'"],
    [{ ...MINIMAL, has_self_signed_cert: 'maybe' }, "Configuration has invalid type: got 'str', expected 'bool'"],
    [{ ...MINIMAL, has_self_signed_cert: 1 }, "Configuration has invalid type: got 'int', expected 'bool'"],
    [{ ...MINIMAL, role: 1 }, "Configuration has invalid type: got 'int', expected 'str'"],
    [{ ...MINIMAL, mode: 1 }, "Configuration has invalid type: got 'int', expected 'str'"],
    [{ ...MINIMAL, copy_inputs: 'x' }, "Configuration has invalid type: got 'str', expected 'dict'"],
    [
      { ...MINIMAL, copy_inputs: rawNumber('9007199254740993') },
      "Configuration has invalid type: got 'int', expected 'dict'",
    ],
    [{ ...MINIMAL, copy_inputs: {} }, "Configuration has invalid type: got 'NoneType', expected 'str'"],
    [{ ...MINIMAL, exclude_events: '$pageview' }, "Configuration has invalid type: got 'str', expected 'list'"],
    [{ ...MINIMAL, include_events: [1] }, "Configuration has invalid type: got 'int', expected 'str'"],
  ])('%j is refused', (sent, detail) => {
    expect(refusal(() => checked(sent))).toEqual(refused('destination__non_field_errors', detail));
  });

  test('is refused by the rules of its destination', () => {
    expect(refusal(() => checked({ ...MINIMAL, role: '' }))).toEqual(refused('destination', 'A role may not be empty'));
    expect(refusal(() => checked({ ...MINIMAL, mode: 'MERGE' }))).toEqual(
      refused('destination', '"MERGE" is not a valid choice. Choose one of: INSERT, COPY.', 'invalid_choice'),
    );
  });
});

describe('a config that is changed', () => {
  const stored = checked({ ...MINIMAL, copy_inputs: { bucket: 'b', credentials: { secret: 's' } } });

  test('keeps what is not sent, at any depth', () => {
    expect(checked({ role: 'writer', copy_inputs: { bucket: 'c' } }, stored)).toStrictEqual({
      ...stored,
      role: 'writer',
      copy_inputs: { bucket: 'c', credentials: { secret: 's' } },
    });
  });

  test('may be sent as it was returned', () => {
    const { open } = splitSecrets(stored, sampleDestination.secrets);
    expect(checked(open, stored)).toStrictEqual(stored);
  });

  test('refuses unknown keys that are sent, and drops unknown keys that are stored', () => {
    expect(refusal(() => checked({ hello: 1 }, stored)).detail).toBe("Configuration has unknown field/s: 'hello'");
    expect(checked({ role: 'r' }, { ...stored, legacy: 1 })).toStrictEqual({ ...stored, role: 'r' });
  });

  test.each([
    [
      { host: 'other.example.com' },
      "'password', 'copy_inputs.credentials.secret' must be sent again when 'host' changes.",
    ],
    [
      { host: 'o.example.com', port: 1, password: 'x' },
      "'copy_inputs.credentials.secret' must be sent again when 'host', 'port' changes.",
    ],
    [
      { has_self_signed_cert: true },
      "'password', 'copy_inputs.credentials.secret' must be sent again when 'has_self_signed_cert' changes.",
    ],
  ])('needs its secrets again when its address changes, or is proved no more: %j', (sent, detail) => {
    expect(refusal(() => checked(sent, stored))).toEqual(refused('destination', detail));
  });

  test('moves with its secrets', () => {
    const sent = { host: 'other.example.com', password: 'x', copy_inputs: { credentials: { secret: 'y' } } };
    expect(checked(sent, stored)).toStrictEqual(merge(stored, sent));
  });

  test('may have its address proved again without them', () => {
    const trusting = checked({ ...MINIMAL, has_self_signed_cert: true });
    expect(checked({ has_self_signed_cert: true, role: 'r' }, trusting)).toStrictEqual({ ...trusting, role: 'r' });
    expect(checked({ has_self_signed_cert: false }, trusting)).toStrictEqual(checked(MINIMAL));
  });

  test('may repeat its address, and move without secrets when it has none', () => {
    expect(checked({ host: MINIMAL.host, port: '5432' }, stored)).toStrictEqual(stored);
    expect(
      checkedConfig(
        { ...sampleDestination, secrets: ['token'] },
        { port: 1 },
        stored,
        { model: 'events' },
        LOCAL_SETTINGS,
      ),
    ).toStrictEqual({ ...stored, port: 1 });
  });

  test('keeps its type', () => {
    expect(refusal(() => checkSameType('S3', 'Folder'))).toEqual(
      refused(
        'destination',
        "Cannot change destination type from 'S3' to 'Folder'. Delete this batch export and create a new one with the " +
          'new destination type.',
      ),
    );
    expect(() => checkSameType('S3', 'S3')).not.toThrow();
  });
});
