// MessagePack-RPC between two peers: ids, what is unanswered on either side, and errors.
// Gets whole messages and a function that sends bytes; owns no socket and decides nothing
// about a connection: a peer that breaks a rule makes `receive` throw, and the owner closes.

import { type ErrorMap, fromErrorValue, ProtocolError, toErrorMap } from './errors.ts';
import { arrayItems, isNil, RawValue } from './outline.ts';
import { decode, encode } from './wire.ts';

/** An error response of the peer, or the end of the connection under a request. `code` is the peer's own word. */
export class RemoteError extends Error {
  readonly code: string;
  readonly data: unknown;
  constructor({ code, message, data }: ErrorMap) {
    super(message);
    this.name = 'RemoteError';
    this.code = code;
    this.data = data;
  }
}

/** The connection ended before there was an answer: whether the request was carried out is not known. */
export class ConnectionEnded extends RemoteError {
  constructor(reason: string) {
    super({ code: 'closed', message: reason });
    this.name = 'ConnectionEnded';
  }
}

export type RpcHandlers = {
  /** Carries out a request; what it returns (or `ProtocolError` it throws) is the answer. `params` is a map, not decoded. */
  readonly request: (method: string, params: RawValue) => Promise<unknown>;
  readonly notification: (method: string, params: RawValue) => void;
  /** Hears of errors that are bugs or faults of ours (anything but a `ProtocolError`). */
  readonly fault: (error: unknown, method: string) => void;
};

type Pending = { readonly resolve: (result: RawValue) => void; readonly reject: (error: Error) => void };

const emptyMap = new RawValue(Uint8Array.of(0x80));

export class RpcPeer {
  readonly #send: (bytes: Uint8Array) => void;
  readonly #handlers: RpcHandlers;
  readonly #maxUnanswered: number;
  readonly #pending = new Map<number, Pending>();
  readonly #answering = new Set<number>();
  #nextId = 1;
  #closed: Error | undefined;

  /** @param maxUnanswered how many requests may be unanswered at once, on either side */
  constructor(options: { send: (bytes: Uint8Array) => void; handlers: RpcHandlers; maxUnanswered: number }) {
    this.#send = options.send;
    this.#handlers = options.handlers;
    this.#maxUnanswered = options.maxUnanswered;
  }

  /**
   * Asks the peer. The promise is fulfilled with the result as bytes.
   * @throws {RemoteError} the peer's error, `closed` when the connection ended first, `too_many_requests` when too many are unanswered
   */
  request(method: string, params: object): Promise<RawValue> {
    if (this.#closed) return Promise.reject(this.#closed);
    if (this.#pending.size >= this.#maxUnanswered) {
      const message = `Cannot ask ${method}: ${this.#maxUnanswered} requests to this peer are unanswered`;
      return Promise.reject(new RemoteError({ code: 'too_many_requests', message }));
    }
    while (this.#pending.has(this.#nextId)) this.#advanceId();
    const id = this.#nextId;
    this.#advanceId();
    const { promise, resolve, reject } = Promise.withResolvers<RawValue>();
    let message: Uint8Array;
    try {
      message = encode([0, id, method, [params]]);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    this.#pending.set(id, { resolve, reject });
    this.#send(message);
    return promise;
  }

  notify(method: string, params: object): void {
    if (!this.#closed) this.#send(encode([2, method, [params]]));
  }

  /**
   * Takes one whole message of the peer.
   * @throws {ProtocolError} `invalid_message` if it is none that this peer may send; the stream cannot be trusted after that
   */
  receive(message: RawValue): void {
    const items = arrayItems(message) ?? [];
    const type: unknown = items[0] && decode(items[0].bytes);
    if (type === 0 && items.length === 4) this.#receiveRequest(items as [RawValue, RawValue, RawValue, RawValue]);
    else if (type === 1 && items.length === 4) this.#receiveResponse(items as [RawValue, RawValue, RawValue, RawValue]);
    else if (type === 2 && items.length === 3) {
      this.#handlers.notification(readMethod(items[1]!), readParams(items[2]!));
    } else {
      throw new ProtocolError(
        'invalid_message',
        'Cannot read the message: it must be [0, id, method, [params]], [1, id, error, result] or [2, method, [params]]',
      );
    }
  }

  /** Why nothing can be asked any more, if it cannot. */
  get closed(): Error | undefined {
    return this.#closed;
  }

  /** Whether a request of the peer with this id is being carried out. */
  isAnswering(id: number): boolean {
    return this.#answering.has(id);
  }

  /** How many requests of the peer are being carried out. */
  get answering(): number {
    return this.#answering.size;
  }

  /** Ends all that is unanswered, each once, with the reason. */
  close(reason: string): void {
    this.#closed ??= new ConnectionEnded(reason);
    for (const { reject } of this.#pending.values()) reject(this.#closed);
    this.#pending.clear();
  }

  /** Sends the error of a request that could not be read as a whole. */
  refuse(id: number, error: ProtocolError): void {
    this.#send(encode([1, id, toErrorMap(error), null]));
  }

  #advanceId(): void {
    this.#nextId = this.#nextId >= 0xffff_ffff ? 1 : this.#nextId + 1;
  }

  #receiveRequest([, rawId, rawMethod, rawParams]: [RawValue, RawValue, RawValue, RawValue]): void {
    const id = readId(rawId);
    if (this.#answering.has(id)) {
      throw new ProtocolError(
        'invalid_message',
        `Cannot take request ${id}: a request with this id is still unanswered`,
      );
    }
    const method = readMethod(rawMethod);
    if (this.#answering.size >= this.#maxUnanswered) {
      const most = `${this.#maxUnanswered} requests of this connection are unanswered, which is the most`;
      this.refuse(
        id,
        new ProtocolError('too_many_requests', `Cannot take ${JSON.stringify(method.slice(0, 100))}: ${most}`),
      );
      return;
    }
    const params = readParams(rawParams);
    this.#answering.add(id);
    this.#handlers.request(method, params).then(
      (result) => this.#answer(id, null, result),
    ).catch((error: unknown) => {
      if (!(error instanceof ProtocolError)) this.#handlers.fault(error, method);
      this.#answer(id, toErrorMap(error), null);
    });
  }

  #answer(id: number, error: ErrorMap | null, result: unknown): void {
    const message = this.#closed ? undefined : encode([1, id, error, result ?? null]);
    this.#answering.delete(id);
    if (message) this.#send(message);
  }

  #receiveResponse([, rawId, error, result]: [RawValue, RawValue, RawValue, RawValue]): void {
    const id = readId(rawId);
    const pending = this.#pending.get(id);
    if (!pending) {
      throw new ProtocolError(
        'invalid_message',
        `Cannot take a response to ${id}: no request with this id is unanswered`,
      );
    }
    this.#pending.delete(id);
    if (isNil(error)) pending.resolve(result);
    else pending.reject(new RemoteError(fromErrorValue(decode(error.bytes))));
  }
}

function readId(value: RawValue): number {
  const id: unknown = decode(value.bytes);
  if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id <= 0xffff_ffff) return id;
  throw new ProtocolError('invalid_message', `Cannot read the id of a message: it must be an unsigned 32-bit integer`);
}

function readMethod(value: RawValue): string {
  const method: unknown = decode(value.bytes);
  if (typeof method === 'string') return method;
  throw new ProtocolError('invalid_message', 'Cannot read the method of a message: it must be a string');
}

/** The one map of parameters; an empty list of parameters counts as an empty map. */
function readParams(value: RawValue): RawValue {
  const items = arrayItems(value);
  if (items?.length === 0) return emptyMap;
  const params = items?.[0];
  if (items?.length === 1 && params && isMap(params)) return params;
  throw new ProtocolError(
    'invalid_message',
    'Cannot read the parameters of a message: they must be an array of one map',
  );
}

function isMap({ bytes }: RawValue): boolean {
  const type = bytes[0]!;
  return (type & 0xf0) === 0x80 || type === 0xde || type === 0xdf;
}
