import { PassThrough } from 'node:stream';
import { endWithReader, interruption } from '../../../infra/local/terminal.ts';

test('a command ends quietly when its reader has gone, and only then', () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
  const stream = new PassThrough() as unknown as NodeJS.WriteStream;
  endWithReader(stream);
  stream.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  expect(exit.mock.calls).toEqual([[0]]);
  exit.mockRestore();
  expect(() => stream.emit('error', new Error('the disk is full'))).toThrow('the disk is full');
});

test('Ctrl-C aborts what can be stopped, once, until it has ended', () => {
  const before = process.listenerCount('SIGINT');
  const reason = new Error('stopped');
  const { signal, end } = interruption(reason);
  const ended = interruption(reason);
  ended.end();
  expect(process.listenerCount('SIGINT')).toBe(before + 1);
  process.listeners('SIGINT').at(-1)?.('SIGINT');
  expect(signal.reason).toBe(reason);
  expect(ended.signal.aborted).toBe(false);
  end();
  expect(process.listenerCount('SIGINT')).toBe(before);
});
