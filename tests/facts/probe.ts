import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the scripted model does at a request: it speaks, calls the shell, calls another way, or the API fails. */
export type Step =
  | { readonly say: string }
  | { readonly run: string }
  | { readonly own: 'heredoc patch' | 'nested patch' | 'terminal' | 'typed' }
  | { readonly status: number };

export interface SessionOptions {
  /** Number of Stops that the hook blocks; further ones end the turn. Default 0. */
  readonly blocks?: number;
  /** The Stop that is allowed has this answer. */
  readonly said?: object;
  readonly env?: Readonly<Record<string, string>>;
  /** The client is not told to run our hooks whether the user trusts them or not. */
  readonly untrusted?: true;
  /** A crashed hook before a call is to block it. */
  readonly blocksOnFailure?: true;
}

/** Payload of a hook, and what it found in its environment. */
export interface Call {
  readonly hook_event_name: string;
  readonly [key: string]: unknown;
}

/** What a headless session left behind. */
export interface Left {
  /** Calls of hooks in their order. */
  readonly calls: readonly Call[];
  /** Text of each request of the model. */
  readonly requests: readonly string[];
  /** Lines of the stream. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly code: number | null;
  /** Names in the project's folder. */
  readonly files: readonly string[];
}

export interface Probed {
  readonly version: string;
  /** Runs one session with a hook for every event that the product uses. */
  readonly session: (steps: readonly Step[], options?: SessionOptions) => Promise<Left>;
}

/** Events for which the hook is registered. */
export const EVENTS = ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop'] as const;
/** Timeout of the hook before a call, in seconds; the answer `slow` takes longer. */
export const TOOL_TIMEOUT = 2;

/** Answers to a call whose command has their name. */
const ANSWERS = `
  exit2: () => { process.stderr.write('DENIED-BY-EXIT'); process.exit(2); },
  mute2: () => process.exit(2),
  json: () => say({ hookSpecificOutput: deny }),
  unknown: () => say({ hookSpecificOutput: deny, notAField: 1 }),
  crash: () => process.exit(7),
  signal: () => process.kill(process.pid, 'SIGSEGV'),
  slow: () => setTimeout(() => say({ hookSpecificOutput: deny }), ${TOOL_TIMEOUT * 1000 + 1500}),
  context: () => say({ hookSpecificOutput: { hookEventName: event, additionalContext: 'CONTEXT-OF-' + event } }),
  over: () => say({ continue: false, stopReason: 'OVER', hookSpecificOutput: deny }),
`;

/** Writes the hook into a folder, where it logs its calls, and returns its command. */
export function writeHook(folder: string, { blocks = 0, said }: SessionOptions): string {
  const path = join(folder, 'hook.cjs');
  writeFileSync(
    path,
    `const fs = require('node:fs');
const log = ${JSON.stringify(logIn(folder))};
const call = JSON.parse(fs.readFileSync(0, 'utf8'));
const event = call.hook_event_name;
fs.appendFileSync(log, JSON.stringify({ ...call, clientPid: process.env.CLAUDE_PID ?? null }) + '\\n');
const say = (answer) => process.stdout.write(JSON.stringify(answer));
const deny = { hookEventName: event, permissionDecision: 'deny', permissionDecisionReason: 'DENIED-BY-JSON' };
const answers = {${ANSWERS}};
const stops = fs.readFileSync(log, 'utf8').split('\\n').filter((line) => line.includes('"hook_event_name":"Stop"')).length;
const [, way] = /by-(\\w+)/.exec(JSON.stringify(call.tool_input ?? {})) ?? [];
if (event === 'PreToolUse' || (event === 'PostToolUse' && way === 'context')) answers[way]?.();
if (event === 'Stop') {
  if (stops <= ${blocks}) say({ decision: 'block', reason: 'REASON-' + stops });
  else ${said === undefined ? 'process.exit(0)' : `say(${JSON.stringify(said)})`};
}
`,
  );
  return `'${process.execPath}' '${path}'`;
}

const logIn = (folder: string): string => join(folder, 'calls.jsonl');

/** Returns the calls that the hook in a folder has logged. */
export function callsIn(folder: string): Call[] {
  const path = logIn(folder);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Call);
}
