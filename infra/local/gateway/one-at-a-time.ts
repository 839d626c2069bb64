import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Requests that a connection may have sent ahead. Node has parsed a thousand of them before it stops to read, and each of
 * them is an object of its own then.
 */
const MAX_AHEAD = 64;

/**
 * Returns what handles the requests of each connection one after the other: the next one when the system has taken the
 * answer before it, so that a connection holds one answer at most. One that sends more than 64 ahead is closed, and
 * `overrun` is called.
 */
export function oneAtATime(handle: Listener, overrun: () => void): Listener {
  /** Of each connection whose request is being answered: those that wait behind it. */
  const ahead = new WeakMap<Socket, [IncomingMessage, ServerResponse][]>();
  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    response.once('close', () => {
      const next = ahead.get(socket)?.shift();
      // After an answer that says it is the last one, the connection takes no other.
      if (next !== undefined && socket.writable) begin(...next);
      else ahead.delete(socket);
    });
    handle(request, response);
  };
  return (request, response) => {
    const { socket } = request;
    const waiting = ahead.get(socket);
    if (waiting === undefined) {
      ahead.set(socket, []);
      begin(request, response);
    } else if (waiting.length < MAX_AHEAD) waiting.push([request, response]);
    else if (!socket.destroyed) {
      overrun();
      socket.destroy();
    }
  };
}
