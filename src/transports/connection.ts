// One connection that carries messages one after another on a stream: bytes in, whole messages to the peer,
// bytes out. A peer that breaks a rule is told which and closed; one that does not read what it is sent is
// closed too. Knows nothing of what the messages say.

import type { Duplex } from 'node:stream';
import type { Log } from '../observe/log.ts';
import { ProtocolError, toErrorMap } from '../protocol/errors.ts';
import { MessageReader, requestIdOf } from '../protocol/message_reader.ts';
import type { WireBounds } from '../protocol/outline.ts';
import { type RpcHandlers, RpcPeer } from '../protocol/rpc.ts';

export type ConnectionLimits = WireBounds & { readonly maxUnanswered: number };

export type Connection = {
  readonly peer: RpcPeer;
  /** Closes after what has been sent has gone out. */
  readonly end: () => void;
  readonly closed: Promise<void>;
};

/** How long a peer may take to read the last words to it, in milliseconds. */
const farewellMs = 1000;

/**
 * Serves a connected stream.
 * @param options.handlers made for this connection's peer
 */
export function serveConnection(options: {
  socket: Duplex;
  limits: ConnectionLimits;
  log: Log;
  handlers: (peer: RpcPeer) => RpcHandlers;
}): Connection {
  const { socket, limits, log } = options;
  const reader = new MessageReader(limits);
  const mostBuffered = 2 * limits.maxMessageBytes;
  let broken = false;

  const send = (bytes: Uint8Array) => {
    if (socket.destroyed || socket.writableEnded) return;
    socket.write(bytes);
    if (socket.writableLength <= mostBuffered) return;
    log.warn({ bytes: socket.writableLength }, 'a peer does not read what it is sent: its connection is closed');
    socket.destroy();
  };
  const handlers: RpcHandlers = {
    request: (method, params) => made.request(method, params),
    notification: (method, params) => made.notification(method, params),
    fault: (error, method) => made.fault(error, method),
  };
  const peer = new RpcPeer({ send, handlers, maxUnanswered: limits.maxUnanswered });
  const made = options.handlers(peer);

  /** @param id of the request that broke the rule, where it was one and its id had come */
  const breakOff = (error: ProtocolError, id: number | undefined) => {
    broken = true;
    log.warn({ problem: error.message }, 'a peer broke the protocol: its connection is closed');
    // A response to an id that is in use would be taken for the answer to the request before.
    if (id === undefined || peer.isAnswering(id)) peer.notify('error', toErrorMap(error));
    else peer.refuse(id, error);
    end();
  };
  const end = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), farewellMs);
    closed.then(() => clearTimeout(timer));
  };

  socket.on('data', (chunk: Uint8Array) => {
    if (broken) return;
    let message: Uint8Array | undefined;
    try {
      for (const next of reader.feed(chunk)) {
        message = next.bytes;
        peer.receive(next);
        message = undefined;
      }
    } catch (error) {
      // Whatever a message has met, it costs its own connection only.
      if (!(error instanceof ProtocolError)) made.fault(error, 'a message');
      const told = error instanceof ProtocolError
        ? error
        : new ProtocolError('internal', 'Cannot take a message: the daemon failed');
      breakOff(told, message ? requestIdOf(message) : reader.requestId());
    }
  });
  socket.on('end', end);
  socket.on('error', (error) => log.debug({ problem: error.message }, 'a connection failed'));
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      peer.close('the connection has ended');
      resolve();
    });
  });
  return { peer, end, closed };
}
