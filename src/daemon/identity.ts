// Who an agent is and what belongs to it: sessions with keys. A name and a session are claims that anyone
// can make; a session's key is what opens it. Kept in memory, bounded.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { ProtocolError } from '../protocol/errors.ts';

export type Session = {
  readonly id: string;
  readonly key: string;
  readonly agent: string;
  /** Connections that use it at present. */
  connections: number;
};

const mostSessions = 10_000;

export class Sessions {
  readonly #sessions = new Map<string, Session>();

  /**
   * Opens the session named, if the key fits, or a new one.
   * @throws {ProtocolError} `forbidden` for a session of somebody else
   */
  open(options: { agent: string; session: string | undefined; key: string | undefined }): Session {
    const { agent, session: id, key } = options;
    if (id === undefined && key !== undefined) {
      throw new ProtocolError('invalid_params', 'Cannot take hello: session_key needs the session that it belongs to');
    }
    const known = id === undefined ? undefined : this.#sessions.get(id);
    if (!known) return this.#make(id ?? randomBytes(16).toString('hex'), agent);
    if (key === undefined || !sameText(key, known.key)) {
      throw new ProtocolError(
        'forbidden',
        `Cannot open session ${JSON.stringify(id)}: it exists, and session_key does not fit it`,
      );
    }
    known.connections++;
    return known;
  }

  leave(session: Session): void {
    session.connections--;
  }

  get size(): number {
    return this.#sessions.size;
  }

  #make(id: string, agent: string): Session {
    for (const [old, { connections }] of this.#sessions) {
      if (this.#sessions.size < mostSessions) break;
      if (connections === 0) this.#sessions.delete(old);
    }
    const session: Session = { id, key: randomBytes(24).toString('base64url'), agent, connections: 1 };
    this.#sessions.set(id, session);
    return session;
  }
}

/** Compares in a time that tells nothing but the length. */
function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
