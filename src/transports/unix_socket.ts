// The Unix socket that agents connect to: claimed without ever taking it from a living daemon, private from
// its first moment, and removed at the end if it is still ours.

import { Buffer } from 'node:buffer';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import process from 'node:process';

/** Longest path of a socket that the kernel takes, in bytes. */
const longestPath = 107;
/** Behind the name of a socket while it is claimed. */
const lockSuffix = '.lock';
const [mostTries, betweenTriesMs] = [200, 50];
const draftFolder = '.rw-';
const draftName = `${draftFolder}XXXXXX/s`;

export type UnixListener = {
  /** Accepts no more connections and removes the socket. */
  readonly close: () => Promise<void>;
};

/**
 * Listens at `file`. A socket that is already there is replaced only if a connection to it is refused.
 * @throws {Error} if another daemon serves there, something else stands there, or the path is too long
 */
export async function listenUnix(
  options: { file: string; mode: number; accept: (socket: Socket) => void },
): Promise<UnixListener> {
  const file = path.resolve(options.file);
  const folder = path.dirname(file);
  const longest = longestPath - Math.max(0, draftName.length - path.basename(file).length);
  if (Buffer.byteLength(file) > longest) {
    throw new Error(`Cannot listen at ${file}: its path must have at most ${longest} bytes`);
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const server = createServer({ pauseOnConnect: false, allowHalfOpen: true }, options.accept);
  // A folder that is private however the socket is made, so that it is so before it has its mode.
  const draft = mkdtempSync(path.join(folder, draftFolder));
  try {
    const socket = path.join(draft, 's');
    await listenPrivately(server, socket);
    chmodSync(socket, options.mode);
    await withLock(file, draft, () => claim(socket, file));
  } catch (error) {
    server.close();
    throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  const own = lstatSync(file);
  return {
    close: () => {
      if (isSame(file, own)) rmSync(file, { force: true });
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}

function listenPrivately(server: Server, file: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // Put back at once: the mask is the whole process's, and others may be starting to listen too.
    const mask = process.umask(0o077);
    server.listen(file, () => {
      server.off('error', reject);
      resolve();
    });
    process.umask(mask);
  });
}

/** Gives the listening socket `draft` the name `file`, while no other starter is at it. */
async function claim(draft: string, file: string): Promise<void> {
  const there = await ask(file);
  if (there === 'served') {
    throw new Error(`Cannot listen at ${file}: another daemon serves there; stop it, or choose another socket`);
  }
  if (there === 'refused') rmSync(file);
  linkSync(draft, file);
}

/**
 * Does `work` while it has the lock beside the socket: a link to a file with the holder's process id, made whole and
 * at once. One whose holder is dead is taken over.
 */
async function withLock(file: string, draft: string, work: () => Promise<void>): Promise<void> {
  const own = path.join(draft, 'pid');
  const lock = file + lockSuffix;
  writeFileSync(own, String(process.pid));
  for (let tries = 0; !tryLink(own, lock); tries++) {
    const holder = readHolder(lock);
    if (holder !== undefined && !isAlive(holder)) {
      // Moved away and not removed, so that of several who find it dead one only takes it from its place.
      moveAway(lock, path.join(draft, `dead${tries}`));
    } else if (tries < mostTries) {
      await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
    } else {
      throw new Error(`Cannot listen at ${file}: process ${holder} has been starting there for too long (${lock})`);
    }
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function moveAway(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // Another starter was first.
  }
}

function tryLink(existing: string, name: string): boolean {
  try {
    linkSync(existing, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(lock: string): number | undefined {
  try {
    return Number(readFileSync(lock, 'utf8'));
  } catch {
    return undefined; // Given back meanwhile.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Only a refused connection proves that nobody serves. */
function ask(file: string): Promise<'served' | 'refused' | 'gone'> {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (!stats) return Promise.resolve('gone');
  if (!stats.isSocket()) {
    return Promise.reject(new Error(`Cannot listen at ${file}: something that is no socket stands there`));
  }
  return new Promise((resolve, reject) => {
    const socket = connect(file);
    socket.once('connect', () => {
      socket.destroy();
      resolve('served');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve('refused');
      else if (error.code === 'ENOENT') resolve('gone');
      else reject(new Error(`Cannot listen at ${file}: whether it is served cannot be told: ${error.message}`));
    });
  });
}

function isSame(file: string, own: { dev: number; ino: number }): boolean {
  const now = lstatSync(file, { throwIfNoEntry: false });
  return now !== undefined && now.dev === own.dev && now.ino === own.ino;
}
