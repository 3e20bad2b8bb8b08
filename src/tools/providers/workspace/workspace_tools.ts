// The built-in tools of a workspace, carried out by the daemon itself in its own process: one table.
// Arguments have been checked against `inputSchema` before `call`; their values are hostile all the same.
// A tool that ran and failed answers with a message; it throws only when aborted or when the daemon is at fault.

import { listFilesTool } from './list_files.ts';
import { readFileTool } from './read_file.ts';
import { searchFilesTool } from './search_files.ts';
import { inLine } from './turns.ts';
import type { WorkspaceTool } from './workspace_tool.ts';

export type { WorkspaceAnswer, WorkspaceContext, WorkspaceTool } from './workspace_tool.ts';

/** Every workspace tool; calls below one root wait in line when too many are under way. */
export const workspaceTools: readonly WorkspaceTool[] = [readFileTool, listFilesTool, searchFilesTool].map((tool) => ({
  ...tool,
  call: (args, context) => inLine(context.root, context.signal, () => tool.call(args, context)),
}));
