import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RalphError } from '../../text/message.ts';
import type { AgentTerms, FoundClient, Host, SessionTerms } from '../host.ts';
import { namedClient, onlyInClaudeCode, promptRefused } from '../host.ts';
import { BY_HAND, TERMINAL } from './hook-output.ts';
import { toml, trustedHooks, USER_HOOKS } from './hooks.ts';
import { rolloutError } from './rollout.ts';
import { startCodex } from './start-codex.ts';

/** Oldest supported Codex: the first whose hooks were measured. */
export const OLDEST_CODEX = '0.171.0';

/** OpenAI's Codex, which has adopted the hook protocol of Claude Code. Measured with 0.171.0. */
export const CODEX: Host = {
  name: 'codex',
  title: 'Codex',
  oldest: OLDEST_CODEX,
  requireClient: requireCodex,
  requireArgs,
  hookArgs: trustedHooks,
  iterations: {
    prepare: (terms) => ({
      args: ['exec', '--json', '--skip-git-repo-check', ...shared(terms), '-'], // reads its prompt from standard input
      // Its hooks find the project by this variable: their working directory is that of the call.
      env: { ...terms.settings.env, CLAUDE_PROJECT_DIR: terms.projectDir },
    }),
    start: (_, options) => startCodex(options),
  },
  sessionArgs: sessionOptions,
  sessionEnv: (projectDir) => ({ CLAUDE_PROJECT_DIR: projectDir }),
  sessionError: rolloutError,
  endsTurns: false,
  printsMessages: () => false,
  // Its background server, which would otherwise run the hooks, does not have the variables of this shell.
  byHand: BY_HAND,
  modeText: sandboxText,
  readsClaudeSettings: false,
  confines: true,
  userHooks: USER_HOOKS,
  cannot: [
    ...onlyInClaudeCode('the permission mode chooses. Set sandbox.mode to auto, and permission_mode to acceptEdits.'),
    {
      setting: 'permission_mode',
      isWanted: ({ tdd, permissionMode }) => tdd && sandboxFor(permissionMode) !== 'danger-full-access',
      because:
        'confines the agent in every mode but bypassPermissions, and "tdd red" cannot record its proof in a sandbox. Run a TDD list with bypassPermissions, or in a session at a terminal.',
    },
  ],
  topics: {
    'loop with a new client for each iteration': '`run TASK --agent codex`: one `codex exec` each',
    'loop inside one session':
      '`start --task TASK --launch --agent codex`, also headless; by hand with `codex --no-daemon --disable unified_exec_tty` after `init --codex`, once you trust its hooks',
    guard:
      'shell commands, `apply_patch` in every form (tool, nested in `exec`, heredoc) and other tools, by hooks that are trusted for this run or session alone',
    'input to running commands':
      'no hook is asked for it (`write_stdin`), so commands get no terminal: their standard input is closed',
    steering: 'a message reaches the agent with its next tool call',
    interruption:
      'SIGINT, after which Codex ends its commands; five seconds later its process group is killed; in a session that is over, every further call is denied, and a headless launcher interrupts it after three seconds',
    'permission mode':
      'acceptEdits, auto and dontAsk: sandbox workspace-write; bypassPermissions: danger-full-access; others: read-only; the sandbox decides, `may_run` does nothing; at a terminal, it never asks in bypassPermissions and dontAsk',
    'dialogs left open': 'not recorded by the client; `status` says since when it is silent, which a long call is too',
    tokens:
      'while the agent works, from the records of the thread and its subagents; in a session without those of subagents',
    cost: 'unknown; `max_cost` is refused',
    'rate limits and API errors':
      'from the sentences of the stream, with the time of the reset where they name one; a session has no Stop after a failed turn, so a headless launcher reads its record and goes on, and at a terminal your next message pauses it until you resume it',
    subagents: 'guarded; their tokens count once their records exist',
    'background work': 'ends with the client',
  },
};

/** Options that would change where the agent works, which thread it is, what it prints or whether it has our hooks. */
const REFUSED =
  /^(?:--json|--output-schema|-o|--output-last-message|-C|--cd|--worktree|--ephemeral|--remote(?:-.*)?|--ignore-user-config|--disable|-s|--sandbox|--full-auto|--approve-for-me|--dangerously-.*|-h|--help|-V|--version)$/;
const TAKES_VALUE =
  /^(?:-c|--config|--enable|-i|--image|-m|--model|--local-provider|-p|--profile|--add-dir|--thread-source|--cyber-access-program)$/;
/** Settings that would replace our hooks or their trust, turn them off, or give commands a terminal. */
const REFUSED_SETTING =
  /^(?:hooks\b|features\.(?:hooks|unified_exec_tty)\b|shell_environment_policy\b|sandbox_mode\b|approval_policy\b)/;

function requireArgs(words: readonly string[]): void {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-') || word === '-' || word === '--') throw promptRefused(word, 'Codex');
    // `-mMODEL` is `-m MODEL`.
    const [name = '', attached] = /^-\w./.test(word) ? [word.slice(0, 2), word.slice(2)] : word.split(/=(.*)/s);
    const value = attached ?? (TAKES_VALUE.test(name) ? words[++at] : undefined);
    const isSetting = name === '-c' || name === '--config';
    const opens = name === '--enable' && value === TERMINAL;
    if (REFUSED.test(name) || opens || (isSetting && REFUSED_SETTING.test(value ?? '')))
      throw new RalphError('usage', refused(word, value));
  }
}

function refused(word: string, value: string | undefined): string {
  const shown = value === undefined || word.includes('=') ? word : `${word} ${value}`;
  return `-- ${shown}: the loop decides where Codex works, what it prints, its sandbox (--permission-mode), its hooks and its terminals. Leave it out.`;
}

type SandboxMode = 'read-only' | 'workspace-write' | 'danger-full-access';

/** Sandbox of Codex that allows what a permission mode does. With `exec` it never asks, so a mode that asks may only read. */
const SANDBOXES: Readonly<Record<string, SandboxMode>> = {
  acceptEdits: 'workspace-write',
  auto: 'workspace-write',
  dontAsk: 'workspace-write',
  bypassPermissions: 'danger-full-access',
};

export function sandboxFor(permissionMode: string | null): SandboxMode {
  return SANDBOXES[permissionMode ?? ''] ?? 'read-only';
}

type Options = Pick<AgentTerms, 'permissionMode' | 'model' | 'effort' | 'hooks' | 'own'>;

/** Permission modes that never ask, so that a session at a terminal needs no person either. */
const NEVER_ASK = new Set(['bypassPermissions', 'dontAsk']);

/** Returns the words with which Codex begins or resumes a session. Without a terminal, it never asks. */
function sessionOptions({ prompt, headless, session, ...terms }: SessionTerms): string[] {
  const resumed = session === null ? [] : ['resume', session];
  const asks = NEVER_ASK.has(terms.permissionMode ?? '') ? ['-c', 'approval_policy="never"'] : [];
  return [...(headless ? ['exec', '--skip-git-repo-check'] : asks), ...shared(terms), ...resumed, prompt];
}

function shared({ permissionMode, model, effort, hooks, own }: Options): string[] {
  return [
    ...['--sandbox', sandboxFor(permissionMode)],
    ...(model === null ? [] : ['--model', model]),
    ...(effort === null ? [] : ['-c', `model_reasoning_effort=${toml(effort)}`]),
    ...own,
    ...hooks,
    // For the agent's shell: clients started there stay outside the loop.
    ...['-c', 'shell_environment_policy.set.RALPH_ACTIVE="0"'],
  ];
}

/** Says at a start what the agent may do. */
function sandboxText(permissionMode: string | null): string {
  const mode = sandboxFor(permissionMode);
  const runs = `Codex runs with its sandbox ${mode} (permission mode ${permissionMode ?? 'default'})`;
  const asks = NEVER_ASK.has(permissionMode ?? '') ? 'never asks' : 'asks for more in a session at a terminal alone';
  return `${runs} and ${asks}; ${MEANING[mode]}.`;
}

const MEANING: Readonly<Record<SandboxMode, string>> = {
  'read-only': 'the agent can change no file',
  'workspace-write': 'the agent can write in the project and in temporary folders, but not in .git, and has no network',
  'danger-full-access': 'the agent can do everything that you can',
};

/** Returns Codex: RALPH_CODEX, or `codex` on the PATH. Throws RalphError `client-missing`, `client-too-old`. */
export function requireCodex(env: NodeJS.ProcessEnv): FoundClient {
  return namedClient(env, {
    title: 'Codex',
    program: 'codex',
    variable: 'RALPH_CODEX',
    oldest: OLDEST_CODEX,
    install: 'npm install -g @openai/codex',
    resolve: (path) => nativeOf(path) ?? path,
  });
}

/**
 * Returns the program behind npm's wrapper script, which a SIGKILL ends without its child; null if `path` is not such a script
 * in its known form.
 */
function nativeOf(path: string): string | null {
  const script = realpathSync(path);
  if (!script.endsWith(join('bin', 'codex.js'))) return null;
  const [system, target] = PLATFORMS[process.platform] ?? [];
  const arch = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as 'x64' | 'arm64'];
  if (system === undefined || target === undefined || arch === undefined) return null;
  const part = `codex-${system}-${process.arch}`;
  const home = dirname(dirname(script));
  const name = process.platform === 'win32' ? 'codex.exe' : 'codex';
  const places = [join(home, '..', part), join(home, 'node_modules', '@openai', part)];
  return places.map((place) => join(place, 'vendor', `${arch}-${target}`, 'bin', name)).find(existsSync) ?? null;
}

const PLATFORMS: Readonly<Partial<Record<NodeJS.Platform, readonly [system: string, target: string]>>> = {
  linux: ['linux', 'unknown-linux-musl'],
  darwin: ['darwin', 'apple-darwin'],
  win32: ['win32', 'pc-windows-msvc'],
};
