// The provider that hands a call back to the agent which asked for the run: `call_tool` out, its answer
// in the three answers of a program. Reaches the agent through protocol/rpc.ts; owns no connection.

import { Buffer } from 'node:buffer';
import { z } from 'zod';
import { cut, jsonText } from '../../protocol/json_text.ts';
import { checkValue, defaultWireBounds, isNil, mapEntries, type RawValue, textBytes } from '../../protocol/outline.ts';
import { fromErrorValue } from '../../protocol/errors.ts';
import { ConnectionEnded, RemoteError, type RpcPeer } from '../../protocol/rpc.ts';
import { decode } from '../../protocol/wire.ts';
import { AnswerLost, denied, failed, notRun, type Provider, type ToolAnswer, type ToolRequest } from '../provider.ts';

const maxMessageChars = 8192;
/** A result is passed on inside of other messages, which have a depth of their own. */
const resultBounds = { ...defaultWireBounds, maxDepth: 56 };
/** What one answer may say beside its content. */
const mostStrings = 1000;
const strings = z.array(z.string().max(65_536)).transform((list) => list.slice(0, mostStrings));

export function agentProvider(peer: RpcPeer): Provider {
  return { kind: 'agent', call: (request) => callAgent(peer, request) };
}

async function callAgent(peer: RpcPeer, request: ToolRequest): Promise<ToolAnswer> {
  if (peer.closed) return notRun(peer.closed.message);
  if (request.signal.aborted) return notRun('the run has ended');
  const { runId, call, tool, class: toolClass, turn, intent, signal } = request;
  const cancel = () => peer.notify('cancel_call', { run_id: runId, call });
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const asked = {
      run_id: runId,
      call,
      tool,
      arguments: request.arguments,
      class: toolClass,
      turn,
      ...(intent === undefined ? {} : { intent }),
    };
    return readAnswer(await peer.request('call_tool', asked), tool);
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    if (error instanceof ConnectionEnded) throw new AnswerLost(error.message);
    const message = cut(error.message, maxMessageChars);
    return error.code === 'denied' ? denied(message) : notRun(message);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** An answer that is not as the protocol has it is no answer: the program is told, and what it is. */
function readAnswer(result: RawValue, tool: string): ToolAnswer {
  const entries = mapEntries(result);
  const ok: unknown = decodeEntry(entries?.get('ok'));
  if (!entries || typeof ok !== 'boolean') {
    return failed(
      `Cannot read the agent's answer of ${tool}: it must be a map with ok true or false, got ${
        jsonText(result.bytes, 200)
      }`,
    );
  }
  for (const key of ['content', 'structured']) {
    const value = entries.get(key);
    if (value && !isNil(value)) checkValue(value.bytes, resultBounds);
  }
  const given = entries.get('content');
  const isText = given !== undefined && textBytes(given) !== undefined;
  const content = isText ? given : undefined;
  const plain = entries.get('structured');
  const structured = plain && !isNil(plain) ? plain : given && !isText && !isNil(given) ? given : undefined;
  return {
    status: ok ? 'ok' : 'failed',
    message: ok ? '' : failureMessage(entries, given),
    content,
    structured,
    complete: z.boolean().optional().catch(undefined).parse(decodeEntry(entries.get('complete'))),
    changedPaths: strings.catch([]).parse(decodeEntry(entries.get('changed_paths'))),
    context: strings.catch([]).parse(decodeEntry(entries.get('context'))),
  };
}

function failureMessage(entries: ReadonlyMap<string, RawValue>, content: RawValue | undefined): string {
  const text = content && textBytes(content);
  if (text && text.length > 0) return Buffer.from(text.subarray(0, 1024 * 1024)).toString('utf8');
  const error = entries.get('error');
  if (error && !isNil(error)) return cut(fromErrorValue(decode(error.bytes)).message, maxMessageChars);
  const value = [content, entries.get('structured')].find((given) => given && !isNil(given));
  return value ? jsonText(value.bytes, maxMessageChars) : 'the tool reported a failure without saying why';
}

const decodeEntry = (value: RawValue | undefined): unknown =>
  value === undefined ? undefined : decode(value.bytes) ?? undefined;
