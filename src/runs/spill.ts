// Spill files: the whole printed output of runs whose report shows only a part of it.
// One private file a run below the state directory; written whole, read by offset, removed with its run.

import { mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

export class SpillFolder {
  readonly #folder: string;

  constructor(stateFolder: string) {
    this.#folder = path.join(stateFolder, 'spill');
  }

  /**
   * @param key a name of ours, unique for the run
   * @returns the path of the file
   * @throws the error of the file system
   */
  async write(key: string, bytes: Uint8Array): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const file = path.join(this.#folder, `${key}.txt`);
    try {
      await writeFile(file, bytes, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      // Half a file is worse than none; one that was there before is not ours.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(file, { force: true });
      throw error;
    }
    return file;
  }

  /** At most `bytes` of the file from `offset`, and where to go on; `next` is null at its end. */
  async read(file: string, offset: number, bytes: number): Promise<{ data: Uint8Array; next: number | null }> {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const data = new Uint8Array(Math.max(0, Math.min(bytes, size - offset)));
      let filled = 0;
      while (filled < data.length) {
        const { bytesRead } = await handle.read(data, filled, data.length - filled, offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      const end = offset + filled;
      return { data: data.subarray(0, filled), next: end < size ? end : null };
    } finally {
      await handle.close();
    }
  }

  /** Removes the files of runs that nobody keeps any more: those older than `days`. */
  async sweep(days: number): Promise<void> {
    const before = Date.now() - days * 86_400_000;
    for (const name of await readdir(this.#folder).catch(unlessMissing)) {
      const file = path.join(this.#folder, name);
      if ((await stat(file)).mtimeMs < before) await this.remove(file);
    }
  }

  async remove(file: string): Promise<void> {
    await rm(file, { force: true });
  }
}

/** A folder that is not there has no entries. */
function unlessMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
