// A peer that writes what it likes: bytes out, messages in, nothing checked.

import { connect, type Socket } from 'node:net';
import { MessageReader } from '../../src/protocol/message_reader.ts';
import { defaultWireBounds } from '../../src/protocol/outline.ts';
import { decode, encode } from '../../src/protocol/wire.ts';
import { until } from './daemon.ts';

export class RawPeer {
  readonly socket: Socket;
  readonly received: unknown[][] = [];
  ended = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    const reader = new MessageReader({ ...defaultWireBounds, maxMessageBytes: 1e9, maxElements: 1e9 });
    socket.on('data', (chunk: Uint8Array) => {
      for (const message of reader.feed(chunk)) this.received.push(decode(message.bytes));
    });
    socket.on('close', () => this.ended = true);
    socket.on('error', () => {}); // Being cut off is what is tested.
  }

  static async connect(path: string): Promise<RawPeer> {
    const socket = connect(path);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new RawPeer(socket);
  }

  send(...messages: unknown[]): void {
    for (const message of messages) this.socket.write(message instanceof Uint8Array ? message : encode(message));
  }

  async hello(tools: object[] = [], more: object = {}): Promise<Record<string, any>> {
    return (await this.ask(1, 'hello', { protocol: 1, agent: 'raw', tools, ...more }))[3] as Record<string, any>;
  }

  /** The response to a request with this id. */
  async ask(id: number, method: string, params: object): Promise<unknown[]> {
    this.send([0, id, method, [params]]);
    return await this.response(id);
  }

  async response(id: number): Promise<unknown[]> {
    const find = () => this.received.find(([type, other]) => type === 1 && other === id);
    await until(() => find() !== undefined || this.ended, `there is a response to ${id}`);
    const found = find();
    if (!found) {
      throw new Error(`the connection ended before a response to ${id}; received ${JSON.stringify(this.received)}`);
    }
    return found;
  }

  /** The next request that the daemon makes by this method. */
  async request(method: string, nth = 0): Promise<unknown[]> {
    const find = () => this.received.filter(([type, , name]) => type === 0 && name === method)[nth];
    await until(() => find() !== undefined || this.ended, `${method} is asked`);
    return find()!;
  }

  async closed(): Promise<void> {
    await until(() => this.ended, 'the connection is closed');
  }

  close(): void {
    this.socket.destroy();
  }
}
