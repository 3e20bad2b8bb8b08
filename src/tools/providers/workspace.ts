// The provider of the built-in workspace tools: decodes a call's arguments, confines it to the run's cwd,
// and encodes what comes back. The tools themselves are in workspace/.

import { decode, encode, encodeText } from '../../protocol/wire.ts';
import { RawValue } from '../../protocol/outline.ts';
import type { Tool } from '../catalogue.ts';
import { failed, notRun, type Provider, succeeded, type ToolAnswer, type ToolRequest } from '../provider.ts';
import { type WorkspaceTool, workspaceTools } from './workspace/workspace_tools.ts';

const provider: Provider = { kind: 'workspace', call: callWorkspace };
const byName = new Map<string, WorkspaceTool>(workspaceTools.map((tool) => [tool.name, tool]));

/** The built-in tools as entries of a catalogue. */
export const builtInTools: readonly Tool[] = workspaceTools.map((tool) => ({
  name: tool.name,
  description: tool.description,
  class: tool.class,
  aliases: [],
  inputSchema: new RawValue(encode(tool.inputSchema)),
  outputSchema: new RawValue(encode(tool.outputSchema)),
  paths: tool.paths,
  idempotent: tool.class === 'read',
  timeoutMs: undefined,
  provider,
}));

async function callWorkspace(request: ToolRequest): Promise<ToolAnswer> {
  const tool = byName.get(request.tool)!;
  if (request.cwd === undefined) {
    return notRun(`Cannot call tool "${tool.name}": the agent gave no cwd, which is the workspace that it works in`);
  }
  const args = decode(request.arguments.bytes) as Record<string, unknown>;
  const answer = await tool.call(args, { root: request.cwd, signal: request.signal, maxBytes: request.maxBytes });
  if (!answer.ok) return failed(answer.message);
  const { content } = answer;
  return succeeded({
    content: encodeText(typeof content === 'string' ? new TextEncoder().encode(content) : content),
    structured: new RawValue(encode(answer.structured)),
    complete: answer.complete,
  });
}
