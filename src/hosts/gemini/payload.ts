import { resolve } from 'node:path';
import { readTail } from '../../state/files/journal-lines.ts';
import { digest } from '../../text/digest.ts';
import { type Fields, fieldsOf, listOf, parseFields, textOf, textOrNull } from '../fields.ts';
import { type HookHost, type HookOutput, hookOutput, printed } from '../hook-io/hook-host.ts';
import type { HookAnswer } from '../hook-io/stdio.ts';
import type { SessionHook } from '../host.ts';

/** Claude Code's event for each event of Gemini CLI. */
export const EVENTS: Readonly<Record<string, SessionHook>> = {
  SessionStart: 'SessionStart',
  BeforeAgent: 'UserPromptSubmit',
  BeforeTool: 'PreToolUse',
  AfterTool: 'PostToolUse',
  AfterAgent: 'Stop',
};

/** Returns an answer in the form of Gemini CLI, which reads JSON with exit code 0 and ignores unknown fields. */
export function geminiOutput(event: string, answer: HookAnswer): HookOutput {
  return hookOutput(event, answer, {
    block: (prompt) => ({ decision: 'deny', reason: `${CONTINUES}${prompt}` }),
    denial: (reason, more) => printed({ decision: 'deny', reason, ...more }),
    // It drops a text for the agent in the answer before a call.
    takesContext: (name) => (name === 'PreToolUse' ? null : (OWN_NAMES.get(name) ?? name)),
  });
}

/** Gemini CLI's event for each event of Claude Code. */
const OWN_NAMES = new Map<string, string>(Object.entries(EVENTS).map(([own, event]) => [event, own]));

const MACHINE_FOLDERS: Partial<Record<NodeJS.Platform, string>> = {
  darwin: '/Library/Application Support/GeminiCli',
  win32: 'C:\\ProgramData\\gemini-cli',
};
export const MACHINE_FOLDER = MACHINE_FOLDERS[process.platform] ?? '/etc/gemini-cli';

export const GEMINI_HOOKS: HookHost = {
  name: 'gemini',
  login: '/auth',
  agentVariable: 'GEMINI_CLI',
  // Its servers have the first one, too.
  shellMarks: ['GEMINI_CLI=1', 'GIT_PAGER=cat'],
  read: readGemini,
  output: geminiOutput,
  tellsAfterCalls: true,
  namesCallDir: true,
  hooksSteer: true,
  settings: {
    folder: '.gemini',
    files: ['settings.json', '.env', 'trustedFolders.json'],
    variable: 'GEMINI_CLI_HOME',
    namesHome: true,
    machine: MACHINE_FOLDER,
  },
};

/** Claude Code's tool for each equivalent tool of Gemini CLI. Any other tool is judged as an unknown one. */
const TOOLS: Readonly<Record<string, string>> = {
  run_shell_command: 'Bash',
  write_file: 'Write',
  replace: 'Edit',
  read_file: 'Read',
  list_directory: 'LS',
  glob: 'Glob',
  grep_search: 'Grep',
  google_web_search: 'WebSearch',
  web_fetch: 'WebFetch',
  ask_user: 'AskUserQuestion',
  write_todos: 'TodoWrite',
  activate_skill: 'Skill',
  enter_plan_mode: 'EnterPlanMode',
  exit_plan_mode: 'ExitPlanMode',
  read_mcp_resource: 'ReadMcpResourceTool',
  list_mcp_resources: 'ListMcpResourcesTool',
};

/**
 * Beginning of the reason of a Stop that continues the session. Gemini CLI passes such a reason to its hooks as a user's
 * prompt; `readGemini` recognises it by this text.
 */
const CONTINUES = 'ralph-loop continues this session.\n\n';

/** Returns a payload of Gemini CLI with the events, tools and fields of Claude Code. */
export function readGemini(payload: Fields): Fields | 'ignored' {
  const event = textOf(payload['hook_event_name']);
  const read = { ...payload, hook_event_name: Object.hasOwn(EVENTS, event) ? EVENTS[event] : event };
  switch (event) {
    case 'BeforeAgent':
      return textOf(payload['prompt']).startsWith(CONTINUES) ? 'ignored' : read;
    case 'AfterAgent': {
      const path = textOrNull(payload['transcript_path']);
      if (endsCancelled(path)) return 'ignored';
      return { ...read, ...(failureIn(path) ?? { last_assistant_message: lastMessage(payload) }) };
    }
    case 'BeforeTool':
    case 'AfterTool':
      return { ...read, ...readCall(payload) };
    default:
      return read;
  }
}

/** Returns the last message of a turn. The payload joins all of them, even a claim that an earlier Stop refused. */
function lastMessage({ transcript_path, prompt_response }: Fields): string {
  const all = textOf(prompt_response);
  const { text, isAnswered } = lastGemini(textOrNull(transcript_path));
  if (text === null || !all.endsWith(text)) return all;
  return isAnswered ? text : '';
}

/** Returns a tool call with the fields of Claude Code. Gemini CLI gives it no id, so equal calls share a digest as their id. */
function readCall({ cwd, tool_name, tool_input, mcp_context }: Fields): Fields {
  const name = textOf(tool_name);
  const input = fieldsOf(tool_input);
  const { server_name: server, tool_name: tool } = fieldsOf(mcp_context);
  const isFromServer = textOf(server) !== '' && textOf(tool) !== '';
  const known = Object.hasOwn(TOOLS, name) ? TOOLS[name] : name;
  return {
    tool_name: isFromServer ? `mcp__${server}__${tool}` : known,
    tool_use_id: digest(JSON.stringify([name, input])),
    tool_input: known === 'Grep' ? { ...input, glob: input['include_pattern'] } : tool_input,
    cwd: name === 'run_shell_command' ? resolve(textOf(cwd), textOf(input['dir_path'])) : cwd,
  };
}

/** Number of bytes at the end of a transcript that are searched for the last message. */
const TAIL_BYTES = 1024 * 1024;

/** Returns the text of the model's last message, null if there is none, and whether no prompt has come after it. */
function lastGemini(path: string | null): { readonly text: string | null; readonly isAnswered: boolean } {
  let isAnswered = true;
  const text = entryFromEnd(path, ({ type, content }) => {
    if (type === 'user' && listOf(content).some(({ text }) => text !== undefined)) isAnswered = false;
    return type === 'gemini' && textOf(content);
  });
  return { text, isAnswered };
}

/** Line that Gemini CLI writes when the user ends a turn (Esc). */
export const CANCELLED = 'Request cancelled.';

/** Returns whether the user ended the last turn of a transcript: Gemini CLI calls the same hook as at any other end. */
export function endsCancelled(path: string | null): boolean {
  return lastEntry(path)?.['content'] === CANCELLED;
}

/** Claude Code's terms for what Gemini CLI 0.61 says of a failed request. */
const FAILURES: readonly (readonly [RegExp, term: string])[] = [
  [/RESOURCE_EXHAUSTED|quota|"code":\s*429/i, 'rate_limit'],
  [/UNAUTHENTICATED|PERMISSION_DENIED|API key/i, 'authentication_failed'],
  [/INVALID_ARGUMENT|NOT_FOUND/, 'invalid_request'],
  [/UNAVAILABLE|INTERNAL|DEADLINE_EXCEEDED|fetch failed|terminated|ECONN/, 'overloaded'],
];

/** Returns Claude Code's event for a turn that ended with a failed request; null for another end, which calls the same hook. */
function failureIn(path: string | null): Fields | null {
  const { type, content } = lastEntry(path) ?? {};
  const [, said] = (type === 'error' && /^\[API Error: (.*)\]/s.exec(textOf(content))) || [];
  if (said === undefined) return null;
  const error = FAILURES.find(([form]) => form.test(said))?.[1];
  return { hook_event_name: 'StopFailure', error, last_assistant_message: said };
}

/** Returns the last message or notice of a transcript. */
function lastEntry(path: string | null): Fields | null {
  return entryFromEnd(path, (entry) => entry['type'] !== undefined && entry);
}

/** Passes the entries of a transcript to `find`, the last first, until it returns anything but false. */
function entryFromEnd<T>(path: string | null, find: (entry: Fields) => T | false): T | null {
  return path === null ? null : readTail(path, TAIL_BYTES, (line) => find(parseFields(line) ?? {}));
}
