import { fieldsOf, isFields, parseFields, textOf } from '../fields.ts';
import type { HookHost } from './hook-host.ts';

/** Payload of a hook, reduced to what this program uses, with the type of each field checked. */
export interface HookInput {
  readonly event: string;
  readonly sessionId: string;
  readonly transcriptPath: string | null;
  readonly cwd: string;
  readonly promptId: string | null;
  /** Final message of the agent at a Stop; null if its last message has no text. */
  readonly lastMessage: string | null;
  readonly backgroundTasks: readonly BackgroundTask[];
  /** Source of a SessionStart (startup, resume, clear, compact); null for other events. */
  readonly source: string | null;
  readonly prompt: string | null;
  readonly raw: Readonly<Record<string, unknown>>;
}

interface BackgroundTask {
  readonly id: string;
  readonly running: boolean;
  /** A shell's command; null for other work, such as a subagent. */
  readonly command: string | null;
}

/** Parses the payload of a hook, which `read` converts to the form of Claude Code; null if event or session are missing. */
export function parseHookInput(text: string): HookInput | null;
export function parseHookInput(text: string, read: HookHost['read']): HookInput | 'ignored' | null;
export function parseHookInput(text: string, read: HookHost['read'] = (same) => same): HookInput | 'ignored' | null {
  const payload = parseFields(text);
  const isDeep = payload !== null && !isReadable(payload['tool_input']);
  const raw = payload === null ? null : read(isDeep ? { ...payload, tool_input: 'nested too deeply' } : payload);
  if (raw === null || raw === 'ignored') return raw;
  const event = string(raw['hook_event_name']);
  const sessionId = string(raw['session_id']);
  if (event === null || sessionId === null) return null;
  return {
    event,
    sessionId,
    transcriptPath: path(raw['transcript_path']),
    cwd: path(raw['cwd']) ?? process.cwd(),
    promptId: string(raw['prompt_id']),
    lastMessage: string(raw['last_assistant_message'], true),
    backgroundTasks: tasks(raw['background_tasks']),
    source: string(raw['source']),
    prompt: string(raw['prompt'], true),
    raw,
  };
}

/** Maximum depth of a tool's input: more would exhaust the stack of the code that searches it. */
const MAX_LEVELS = 500;

function isReadable(input: unknown): boolean {
  let open = [input];
  for (let level = 0; open.length > 0 && level <= MAX_LEVELS; level += 1)
    open = open.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  return open.length === 0;
}

function tasks(value: unknown): BackgroundTask[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isFields).map((task, index) => ({
    id: string(task['id']) ?? string(task['task_id']) ?? `task-${index}`,
    running: task['status'] === 'running',
    command: task['type'] === 'shell' ? (string(task['command']) ?? '') : null,
  }));
}

function string(value: unknown, emptyCounts = false): string | null {
  return typeof value === 'string' && (emptyCounts || value !== '') ? value : null;
}

/** Reads a path. No file name contains a NUL, for which node throws a TypeError instead of a system error. */
function path(value: unknown): string | null {
  const text = string(value);
  return text?.includes('\0') ? null : text;
}

export interface HookToolCall {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** True if the input is an object of at most 500 levels; otherwise `input` is empty. */
  readonly isReadable: boolean;
  readonly id: string;
  readonly agentId: string | null;
  /** Result of the tool, after the call. */
  readonly response: unknown;
}

export function toolCall({ raw }: HookInput): HookToolCall {
  return {
    name: textOf(raw['tool_name']),
    input: fieldsOf(raw['tool_input']),
    isReadable: isFields(raw['tool_input'] ?? {}),
    id: textOf(raw['tool_use_id']),
    agentId: string(raw['agent_id']),
    response: raw['tool_response'],
  };
}
