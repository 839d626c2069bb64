import { jsonLines, logTo, shortLines } from '../../../lib/ports/log.ts';

const AT = Date.UTC(2026, 0, 7, 13, 20, 5);

function written(kind: typeof jsonLines) {
  const lines: string[] = [];
  const log = logTo(
    kind((text) => lines.push(text)),
    () => AT,
  );
  return { lines, log };
}

test('a line of JSON has the fields of Powertools, an error as an object of its own', () => {
  const { lines, log } = written(jsonLines);
  const error = new TypeError('bug');
  log.error('it broke', { request_id: 'r', nothing: undefined, error });
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    {
      level: 'ERROR',
      message: 'it broke',
      timestamp: '2026-01-07T13:20:05.000Z',
      service: 'workspaces',
      request_id: 'r',
      error: { name: 'TypeError', message: 'bug', stack: error.stack },
    },
  ]);
});

test('a short line leaves out what is not known, and has the stack of an error', () => {
  const { lines, log } = written(shortLines);
  log.info('answered', { status: 200, nothing: undefined });
  log.error('it broke', { error: new TypeError('bug') });
  expect(lines[0]).toBe('13:20:05   answered  status=200\n');
  expect(lines[1]).toMatch(/^13:20:05 E it broke {2}error=TypeError: bug\n {4}at /);
});

test('a short line is one line, and nothing in it steers a terminal', () => {
  const { lines, log } = written(shortLines);
  const text = 'no\u001b[2J\r\n13:20:05   answered';
  log.warning(text, { reason: text, error: new TypeError(text) });
  const [line = ''] = lines;
  // oxlint-disable-next-line no-control-regex -- these are the signs that it is about
  expect(line).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  expect(line.split('\n').filter((one) => !/^ {4}at /.test(one))).toEqual([
    '13:20:05 W no [2J 13:20:05   answered  reason=no [2J 13:20:05   answered error=TypeError: no [2J 13:20:05   answered',
    '',
  ]);
});
