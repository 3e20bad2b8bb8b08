// search_files: lines of the workspace's files that match a pattern, in the order of paths and lines, in
// pages. Symbolic links and binary files are passed over. Complete means: nothing follows this page,
// every file was searched to its end, and every line shown is whole.

import { integerOf, isRefusal, named, relativePath, textOf } from './arguments.ts';
import { workspaceBounds } from './bounds.ts';
import { explain, openPlace, type Place } from './confined_files.ts';
import { loadAhead, type OpenedFile, openHead } from './file_lines.ts';
import type { Glob } from './glob.ts';
import { globArgument } from './list_files.ts';
import { type Omissions, omissionSentences, omit } from './omissions.ts';
import { askedFor, compilePattern, tooLong } from './pattern.ts';
import { type Search, searchFile } from './search_lines.ts';
import { newPage, renderPage } from './search_page.ts';
import { walk } from './walk.ts';
import type { WorkspaceTool } from './workspace_tool.ts';

export const searchFilesTool: WorkspaceTool = {
  name: 'search_files',
  description: 'Searches the lines of files for a regular expression (RE2 syntax; no lookaround or backreferences), ' +
    'or for plain text with literal: true. Gives one line `path:line: text` a match, sorted by path. path is a folder or a file, ' +
    'glob chooses files as in list_files. Binary files, symbolic links, names that begin with a dot (unless hidden) and .git are passed over. ' +
    'complete is false where a page follows (next_offset) or something was left out (omitted says what).',
  inputSchema: {
    type: 'object',
    properties: {
      pattern: { type: 'string', minLength: 1, description: 'Regular expression, matched against each line' },
      path: {
        type: 'string',
        minLength: 1,
        description: 'Folder or file, relative to the workspace; the workspace itself if left out',
      },
      glob: { type: 'string', minLength: 1, description: 'Which files of the folder, such as *.ts or src/**/*.rs' },
      literal: { type: 'boolean', description: 'Whether pattern is plain text' },
      ignore_case: { type: 'boolean' },
      hidden: { type: 'boolean', description: 'Whether to search names that begin with a dot' },
      limit: { type: 'integer', minimum: 1, maximum: 10_000, description: 'Matching lines a page, 1000 if left out' },
      offset: {
        type: 'integer',
        minimum: 0,
        maximum: 2 ** 32,
        description: 'Matching lines to pass over: next_offset of the page before',
      },
      context: {
        type: 'integer',
        minimum: 0,
        maximum: workspaceBounds.contextLines,
        description: 'Lines to show before and after each match',
      },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: {
      matches: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            path: { type: 'string' },
            line: { type: 'integer' },
            text: { type: 'string', description: 'Bytes where the line is not UTF-8' },
            cut: { type: 'boolean', description: 'true where text is only the beginning of the line' },
            before: { type: 'array', items: { type: 'string' } },
            after: { type: 'array', items: { type: 'string' } },
          },
        },
      },
      files: { type: 'array', items: { type: 'string' }, description: 'Files with a match on this page' },
      searched_files: { type: 'integer' },
      binary_files: { type: 'integer', description: 'Files passed over as binary' },
      complete: { type: 'boolean' },
      next_offset: { type: ['integer', 'null'] },
      has_more: { type: 'boolean' },
      omitted: { type: 'array', items: { type: 'string' }, description: 'What was left out, in sentences' },
    },
  },
  class: 'read',
  paths: ['path'],
  call: async (args, { root, signal, maxBytes }) => {
    const source = textOf(args['pattern']);
    if (source === null) {
      return { ok: false, message: 'Cannot search: a pattern must be valid UTF-8, and these bytes are not' };
    }
    const asked = askedFor(source);
    const literal = args['literal'] === true;
    const pattern = tooLong(source, asked) ??
      compilePattern({ source, literal, ignoreCase: args['ignore_case'] === true, asked });
    if (isRefusal(pattern)) return { ok: false, message: pattern.refused };
    const glob = args['glob'] === undefined ? null : globArgument(args['glob']);
    if (glob !== null && isRefusal(glob)) return { ok: false, message: glob.refused };
    const path = args['path'] === undefined ? '' : relativePath(args['path'], 'search', root);
    if (isRefusal(path)) return { ok: false, message: path.refused };
    const request = { root, path, verb: 'search', links: true } as const;
    const start = await openPlace(request);
    if (isRefusal(start)) return { ok: false, message: start.refused };

    const omissions: Omissions = new Map();
    const room = maxBytes - workspaceBounds.envelopeBytes;
    const page = newPage({
      offset: integerOf(args['offset'], 0),
      limit: integerOf(args['limit'], 1000),
      room,
      omissions,
    });
    const left = { bytes: workspaceBounds.searchedBytes };
    const search: Search = { pattern, context: integerOf(args['context'], 0), page, signal, left };
    const counts = { searched: 0, binary: 0 };
    try {
      const paths = start.kind === 'folder'
        ? pathsBelow({ root, start, hidden: args['hidden'] === true, signal, omissions, glob })
        : pathItself(start);
      const load = (each: string) => openHead({ root, path: each, links: false, signal });
      const drop = async (file: Awaited<ReturnType<typeof load>>) => {
        if (!isRefusal(file)) await file.handle?.close();
      };
      for await (const file of loadAhead(paths, { count: workspaceBounds.filesAhead, load, drop })) {
        if (isRefusal(file)) {
          if (start.kind !== 'folder') return { ok: false, message: file.refused };
          // Gone since its folder was read: as if it had never been there.
          if (file.code !== 'ENOENT') omit(omissions, 'unreadableFiles');
          continue;
        }
        if (file.binary && start.kind !== 'folder') {
          return {
            ok: false,
            message: `Cannot search ${
              named(path)
            }: it must be text, and it has a NUL in its first ${workspaceBounds.binaryProbeBytes} bytes`,
          };
        }
        await searchOpened(search, file, counts);
        if (page.hasMore) break;
        if (left.bytes <= 0) {
          omit(omissions, 'bytes');
          break;
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, message: (await explain(error, request)).refused };
    }
    const omitted = omissionSentences(omissions);
    const complete = !page.hasMore && omitted.length === 0;
    const structured = {
      matches: page.matches,
      files: [...new Set(page.matches.map((match) => match.path))],
      searched_files: counts.searched,
      binary_files: counts.binary,
      complete,
      next_offset: page.hasMore ? page.passed : null,
      has_more: page.hasMore,
      omitted,
    };
    return { ok: true, content: await renderPage(page, signal), structured, complete };
  },
};

async function searchOpened(
  search: Search,
  file: OpenedFile,
  counts: { searched: number; binary: number },
): Promise<void> {
  if (file.binary) {
    counts.binary++;
    return;
  }
  counts.searched++;
  try {
    await searchFile(search, file);
  } catch (error) {
    search.signal.throwIfAborted();
    const { code } = error as NodeJS.ErrnoException;
    if (typeof code !== 'string') throw error;
    // What was found before the disk failed stays found.
    omit(search.page.omissions, 'unreadableFiles');
  } finally {
    await file.handle?.close();
  }
}

async function* pathsBelow(below: Parameters<typeof walk>[0] & { readonly glob: Glob | null }): AsyncGenerator<string> {
  const prefix = below.start.path === '' ? 0 : below.start.path.length + 1;
  for await (const found of walk(below)) {
    if (found.link) continue;
    const matches = below.glob === null ? true : below.glob.test(found.path.slice(prefix));
    if (matches === null) omit(below.omissions, 'costlyPaths');
    if (matches) yield found.path;
  }
}

async function* pathItself(start: Place): AsyncGenerator<string> {
  await start.handle.close();
  yield start.path;
}
