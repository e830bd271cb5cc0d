import { basename } from 'node:path';
import { type HookHost, type HookOutput, hookOutput } from '../hook-io/hook-host.ts';
import type { HookAnswer } from '../hook-io/stdio.ts';

const TAKES_CONTEXT = ['PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'SessionStart', 'SubagentStart'];

/**
 * Returns an answer in the form that Codex accepts. Codex parses strictly: an unknown field, an empty reason or `continue:
 * false` before a tool makes the whole answer void, and the tool runs. So a denial is exit code 2 with its text on standard
 * error, and only fields measured for the event are written.
 */
export function codexOutput(event: string, answer: HookAnswer): HookOutput {
  return hookOutput(event, answer, {
    block: (reason) => ({ decision: 'block', reason }),
    denial: (stderr) => ({ stdout: '', stderr, code: 2 }),
    takesContext: (name) => (TAKES_CONTEXT.includes(name) ? name : null),
  });
}

/** Feature of Codex that gives commands of the agent a terminal. */
export const TERMINAL = 'unified_exec_tty';

/**
 * Gives no command of the agent a terminal. Codex calls no hook before the agent types into one (`write_stdin`); without
 * one, standard input is closed.
 */
export const NO_TERMINAL = ['--disable', TERMINAL] as const;

/** Begins a session by hand whose commands have no terminal. */
export const BY_HAND = ['RALPH_ACTIVE=1', `codex --no-daemon ${NO_TERMINAL.join(' ')}`] as const;

/** Pattern for that option in a command line. */
const CLOSED = new RegExp(` (?:--disable[ =]${TERMINAL}|(?:-c|--config)[ =]features\\.${TERMINAL}=false)(?: |$)`);

const UNSEEN = `this Codex lets you type into running commands, which no hook sees. Ask the user to start it again: ${BY_HAND.join(' ')}`;

export const CODEX_HOOKS: HookHost = {
  name: 'codex',
  login: 'codex login',
  // A message typed while the agent works is delivered with the id of the turn that it joins.
  read: (payload) => ({ ...payload, prompt_id: payload['turn_id'] }),
  agentVariable: 'CODEX_CI',
  shellMarks: ['CODEX_CI=1'],
  output: codexOutput,
  namesCallDir: true,
  hooksSteer: true,
  whyUnseen(above) {
    const client = above.find(([program = '']) => basename(program) === 'codex');
    return client === undefined || CLOSED.test(client.join(' ')) ? null : UNSEEN;
  },
  settings: {
    folder: '.codex',
    files: ['config.toml', 'hooks.json'],
    variable: 'CODEX_HOME',
    namesHome: false,
    machine: '/etc/codex',
  },
};
