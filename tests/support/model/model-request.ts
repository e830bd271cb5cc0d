import type { IncomingHttpHeaders } from 'node:http';

/** The parts of a Messages API body that tests look at; everything else stays reachable in `raw`. */
export type ContentBlock = {
  readonly type: string;
  readonly text?: string;
  readonly name?: string;
  readonly id?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: unknown;
  readonly is_error?: boolean;
};

/** The client also sends messages with role "system" inside `messages` (reminders, environment). */
export type RequestMessage = {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string | readonly ContentBlock[];
};

export type MessagesBody = {
  readonly model: string;
  readonly stream?: boolean;
  readonly system?: string | readonly ContentBlock[];
  readonly messages: readonly RequestMessage[];
  readonly tools?: readonly { readonly name?: string }[];
  readonly output_config?: { readonly format?: unknown; readonly effort?: string };
};

/**
 * main: the agent the user talks to. subagent: one that it started. compaction: the summary of a long conversation.
 * auxiliary: titles, suggestions, recaps, small-model calls. count-tokens, other: not a completion at all.
 */
export type RequestKind = 'main' | 'subagent' | 'compaction' | 'auxiliary' | 'count-tokens' | 'other';

export type ModelRequest = {
  /** Index among requests of kind "main" (the script's step number); -1 for other kinds. */
  readonly index: number;
  readonly kind: RequestKind;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: MessagesBody;
  readonly sessionId: string | undefined;
  readonly agentId: string | undefined;
  /** Last text block of the last message with role "user", not counting the client's <system-reminder> blocks. */
  readonly lastUserText: string;
  /** Every message after the last assistant one: what this request adds to the conversation. */
  readonly since: readonly RequestMessage[];
  /** All text of `since`, reminders, system messages and tool results included. */
  readonly sinceText: string;
};

export const blocksOf = (content: RequestMessage['content']): readonly ContentBlock[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

const isReminder = (value: string): boolean => value.trimStart().startsWith('<system-reminder>');

const blockText = (block: ContentBlock): string => {
  if (block.text !== undefined) return block.text;
  if (typeof block.content === 'string') return block.content;
  if (Array.isArray(block.content)) return (block.content as readonly ContentBlock[]).map(blockText).join('\n');
  return '';
};

export const textOf = (message: RequestMessage): string => blocksOf(message.content).map(blockText).join('\n');

/** Text blocks only (no tool results), with the client's own reminders left out. */
const userTextsOf = (message: RequestMessage): readonly string[] =>
  blocksOf(message.content)
    .filter((block) => block.type === 'text')
    .map((block) => block.text ?? '')
    .filter((value) => !isReminder(value));

const userTextOf = (message: RequestMessage): string => userTextsOf(message).join('\n');

const lastUserMessage = (body: MessagesBody): RequestMessage | undefined =>
  body.messages.findLast((message) => message.role === 'user');

/** The client joins neighbouring user messages into one: the prompt itself is the last block. */
export const lastUserText = (body: MessagesBody): string => {
  const last = lastUserMessage(body);
  return last === undefined ? '' : (userTextsOf(last).at(-1) ?? '');
};

export const messagesSince = (body: MessagesBody): readonly RequestMessage[] =>
  body.messages.slice(body.messages.findLastIndex((message) => message.role === 'assistant') + 1);

const systemText = (body: MessagesBody): string =>
  typeof body.system === 'string' ? body.system : (body.system ?? []).map((block) => block.text ?? '').join('\n');

// Measured on 2.1.330: the forks that reuse the main agent's system prompt and tools are told apart only by their last message.
const compactionMarks = ['Your task is to create a detailed summary of'];
const forkMarks = ['[SUGGESTION MODE:', 'The user stepped away and is coming back'];
const agentTools = new Set([
  'Bash',
  'PowerShell',
  'Read',
  'Edit',
  'Write',
  'Agent',
  'Task',
  'Skill',
  'ToolSearch',
  'Glob',
  'Grep',
]);

/** Tells the main agent's requests from all others; an unknown small request counts as auxiliary. */
export const classify = (
  method: string,
  path: string,
  headers: IncomingHttpHeaders,
  body: MessagesBody | undefined,
): RequestKind => {
  const route = path.split('?')[0] ?? '';
  if (route.endsWith('/count_tokens')) return 'count-tokens';
  if (method !== 'POST' || !route.endsWith('/v1/messages') || body === undefined) return 'other';
  const asked = lastUserMessage(body);
  const last = asked === undefined ? '' : userTextOf(asked);
  if (compactionMarks.some((mark) => last.includes(mark))) return 'compaction';
  if (headers['x-claude-code-agent-id'] !== undefined || systemText(body).includes('cc_is_subagent=true'))
    return 'subagent';
  if (forkMarks.some((mark) => last.includes(mark))) return 'auxiliary';
  if (body.output_config?.format !== undefined) return 'auxiliary';
  return (body.tools ?? []).some((one) => agentTools.has(one.name ?? '')) ? 'main' : 'auxiliary';
};
