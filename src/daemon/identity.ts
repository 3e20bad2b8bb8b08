// Who an agent is and what belongs to it: sessions with keys. A name and a session are claims that anyone
// can make; a session's key is what opens it. Kept in memory, bounded.

import { Buffer } from 'node:buffer';
import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { ProtocolError } from '../protocol/errors.ts';

export type Session = {
  /** As it was claimed or given. */
  readonly id: string;
  /** What opens it again. */
  readonly key: string;
  /** The daemon's own name for what belongs to it: never told, never used again. */
  readonly owner: string;
  /** Connections that use it at present. */
  connections: number;
};

const mostSessions = 10_000;

export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #dropped: (session: Session) => void;

  /** @param dropped hears of each session that nobody can open any more */
  constructor(dropped: (session: Session) => void) {
    this.#dropped = dropped;
  }

  /**
   * Opens the session named, if the key fits, or a new one.
   * @throws {ProtocolError} `forbidden` for a session of somebody else, `busy` if there are too many
   */
  open(options: { session: string | undefined; key: string | undefined }): Session {
    const { session: id, key } = options;
    if (id === undefined && key !== undefined) {
      throw new ProtocolError('invalid_params', 'Cannot take hello: session_key needs the session that it belongs to');
    }
    const known = id === undefined ? undefined : this.#sessions.get(id);
    if (!known) return this.#make(id ?? randomBytes(16).toString('hex'));
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

  #make(id: string): Session {
    for (const [old, session] of this.#sessions) {
      if (this.#sessions.size < mostSessions) break;
      if (session.connections > 0) continue;
      this.#sessions.delete(old);
      this.#dropped(session);
    }
    if (this.#sessions.size >= mostSessions) {
      throw new ProtocolError('busy', `Cannot open a session: ${mostSessions} are connected, which is the most`, {
        what: 'sessions',
        retry_after_ms: 1000,
      });
    }
    const session: Session = { id, key: randomBytes(24).toString('base64url'), owner: randomUUID(), connections: 1 };
    this.#sessions.set(id, session);
    return session;
  }
}

/** Compares in a time that tells nothing but the length. */
function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
