// list_files: the paths of files and symbolic links below a folder of the workspace, in the order of
// their paths, in pages. Folders themselves are not listed. Complete means: nothing follows this
// page and the whole tree was seen. Text is one path a line, structured the exact paths.

import { integerOf, isRefusal, named, pathLine, type Refusal, relativePath, textOf } from './arguments.ts';
import { workspaceBounds } from './bounds.ts';
import { explain, openPlace } from './confined_files.ts';
import { compileGlob, type Glob } from './glob.ts';
import { type Omissions, omissionSentences, omit } from './omissions.ts';
import { walk } from './walk.ts';
import type { WorkspaceTool } from './workspace_tool.ts';

export const listFilesTool: WorkspaceTool = {
  name: 'list_files',
  description:
    'Lists the files below a folder of the workspace, recursively, sorted by path, one relative path a line. ' +
    'pattern is a glob (* ** ? [abc] {a,b}): without a slash it is matched against the name, with one against the path below the folder. ' +
    'Names that begin with a dot are left out unless hidden is true; .git always, unless path names it. Symbolic links are listed, not followed. ' +
    'complete is false where a page follows (next_offset) or something could not be listed (omitted says what).',
  inputSchema: {
    type: 'object',
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description: 'Folder, relative to the workspace; the workspace itself if left out',
      },
      pattern: { type: 'string', minLength: 1, description: 'Glob' },
      limit: { type: 'integer', minimum: 1, maximum: 100_000, description: 'Files a page, 10000 if left out' },
      offset: {
        type: 'integer',
        minimum: 0,
        maximum: 2 ** 32,
        description: 'Files to pass over: next_offset of the page before',
      },
      hidden: { type: 'boolean', description: 'Whether to list names that begin with a dot' },
    },
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: {
      files: { type: 'array', items: { type: 'string' } },
      complete: { type: 'boolean' },
      next_offset: { type: ['integer', 'null'] },
      has_more: { type: 'boolean' },
      omitted: { type: 'array', items: { type: 'string' }, description: 'What was left out, in sentences' },
    },
  },
  class: 'read',
  paths: ['path'],
  call: async (args, { root, signal, maxBytes }) => {
    const path = args['path'] === undefined ? '' : relativePath(args['path'], 'list', root);
    if (isRefusal(path)) return { ok: false, message: path.refused };
    const glob = args['pattern'] === undefined ? null : globArgument(args['pattern']);
    if (glob !== null && isRefusal(glob)) return { ok: false, message: glob.refused };
    const limit = integerOf(args['limit'], 10_000);
    const offset = integerOf(args['offset'], 0);
    const request = { root, path, verb: 'list', links: true } as const;
    const start = await openPlace(request);
    if (isRefusal(start)) return { ok: false, message: start.refused };
    if (start.kind !== 'folder') {
      await start.handle.close();
      const is = start.kind === 'file' ? 'file; read_file reads files' : 'FIFO, socket or device';
      return { ok: false, message: `Cannot list ${named(path)}: it must be a folder, and it is a ${is}` };
    }

    const omissions: Omissions = new Map();
    const room = maxBytes - workspaceBounds.envelopeBytes;
    const files: string[] = [];
    const shown: string[] = [];
    let passed = 0;
    let used = 0;
    let hasMore = false;
    const below = start.path === '' ? 0 : start.path.length + 1;
    try {
      for await (const found of walk({ root, start, hidden: args['hidden'] === true, signal, omissions })) {
        const matches = glob === null ? true : glob.test(found.path.slice(below));
        if (matches === null) omit(omissions, 'costlyPaths');
        if (!matches) continue;
        if (passed < offset) {
          passed++;
          continue;
        }
        const line = pathLine(found.path);
        // An array's element has up to 5 bytes of head, a line one of break.
        const bytes = Buffer.byteLength(line) + 5;
        if (files.length >= limit || (used + bytes > room && used > 0)) {
          hasMore = true;
          break;
        }
        passed++;
        if (bytes > room) {
          omit(omissions, 'large');
          continue;
        }
        used += bytes;
        files.push(found.path);
        shown.push(line);
      }
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, message: (await explain(error, request)).refused };
    }
    const omitted = omissionSentences(omissions);
    const complete = !hasMore && omitted.length === 0;
    const structured = { files, complete, next_offset: hasMore ? passed : null, has_more: hasMore, omitted };
    return { ok: true, content: shown.join('\n'), structured, complete };
  },
};

/** The glob of an argument, or what is wrong with it. */
export function globArgument(value: unknown): Glob | Refusal {
  const text = textOf(value);
  return text === null
    ? { refused: 'Cannot match files: a glob must be valid UTF-8, and these bytes are not' }
    : compileGlob(text);
}
