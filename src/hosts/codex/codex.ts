import { tokens, type UsageDelta } from '../../engine/events.ts';
import { RalphError } from '../../text/message.ts';
import { commandWords } from '../../text/shell/parse-shell.ts';
import { type AgentMessage, endedWell, type RunFacts } from '../agent/agent-message.ts';
import type { AgentRun, ProgramOptions } from '../agent/agent-run.ts';
import { type RunExit, type RunOutcome, refusedStart } from '../agent/classify-run.ts';
import { StreamRun, type StreamWays } from '../agent/stream-run.ts';
import { type Fields, fieldsOf, listOf, parseFields, stringsOf, textOf } from '../fields.ts';
import { type AgentTerms, type Host, onlyInClaudeCode, promptRefused, type SessionTerms } from '../host.ts';
import { OLDEST_CODEX, requireCodex } from './find-codex.ts';
import { BY_HAND, TERMINAL } from './hook-output.ts';
import { toml, trustedHooks, USER_HOOKS } from './hooks.ts';
import { apiFailure, rolloutError, rolloutReader, usageOf } from './rollout.ts';

/** OpenAI's Codex, which has taken over the hook protocol of Claude Code. Measured with 0.171.0. */
export const CODEX: Host = {
  name: 'codex',
  title: 'Codex',
  oldest: OLDEST_CODEX,
  requireClient: requireCodex,
  requireArgs,
  hookArgs: trustedHooks,
  iterations: {
    prepare: (terms) => ({
      args: runOptions(terms),
      // Its hooks find the project by it: their working directory is that of the call.
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
      'acceptEdits, auto and dontAsk: sandbox workspace-write; bypassPermissions: danger-full-access; others: read-only; the sandbox decides, `may_run` does nothing',
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

/** Returns the words of one run of Codex, which reads its prompt from standard input. */
function runOptions(terms: Options): string[] {
  return ['exec', '--json', '--skip-git-repo-check', ...shared(terms), '-'];
}

/** Returns the words with which Codex begins or resumes a session. At a terminal, the user's own approvals apply. */
function sessionOptions({ prompt, headless, session, ...terms }: SessionTerms): string[] {
  const resumed = session === null ? [] : ['resume', session];
  return [...(headless ? ['exec', '--skip-git-repo-check'] : []), ...shared(terms), ...resumed, prompt];
}

function shared({ permissionMode, model, effort, hooks, own }: Options): string[] {
  return [
    ...['--sandbox', sandboxFor(permissionMode)],
    ...(model === null ? [] : ['--model', model]),
    ...(effort === null ? [] : ['-c', `model_reasoning_effort=${toml(effort)}`]),
    ...own,
    ...hooks,
    // For the agent's shell: clients that are started there take no part in the loop.
    ...['-c', 'shell_environment_policy.set.RALPH_ACTIVE="0"'],
  ];
}

/** Says at a start what the agent may do. */
function sandboxText(permissionMode: string | null): string {
  const mode = sandboxFor(permissionMode);
  const runs = `Codex runs with its sandbox ${mode} (permission mode ${permissionMode ?? 'default'})`;
  return `${runs} and asks for more in a session at a terminal alone; ${MEANING[mode]}.`;
}

const MEANING: Readonly<Record<SandboxMode, string>> = {
  'read-only': 'the agent can change no file',
  'workspace-write': 'the agent can write in the project and in temporary folders, but not in .git, and has no network',
  'danger-full-access': 'the agent can do everything that you can',
};

const ROLLOUT_MS = 1_000;

/** Starts Codex for one turn and sends the prompt. It takes no message while it runs: hooks deliver steering. */
function startCodex(options: ProgramOptions): AgentRun {
  const { args, env, silenceMs } = options;
  const rollouts = rolloutReader(env);
  const meter = codexMeter();
  let readAt = 0;
  const run: StreamRun = new StreamRun(options, {
    args,
    env,
    politeMsOfBudget: 3_000,
    read: eventReader(rollouts.follow),
    measure: meter,
    before: ({ kind }, { guardedCalls }) => {
      // Codex reports no hooks: ours record each call.
      const isGuarded = kind === 'tool-result' && guardedCalls === 0 && options.wasGuarded?.() === true;
      if (isGuarded) run.hear({ kind: 'hook', event: 'PreToolUse' });
      return true;
    },
    after: () => undefined,
    look: (isLast) => {
      if (!isLast && Date.now() - readAt < ROLLOUT_MS) return;
      readAt = Date.now();
      rollouts.read().forEach(run.hear);
    },
    isOverdue: (silentMs) => silentMs > silenceMs,
    // Its commands lead groups of their own. It ends them, which a SIGTERM would leave running.
    interrupt: () => interrupt(run.process.pid),
    refused: refusedOptions,
  });
  run.process.write(options.prompt);
  run.process.closeInput();
  return {
    pid: run.process.pid,
    done: run.finished(),
    send: () => false,
    // Only our guard denies a call there.
    allow: () => undefined,
    end: run.end,
  };
}

/**
 * Returns a function that counts the tokens of a run: those of each request, and at the end of a turn Codex's own total, which
 * lacks subagents. The usage is null while none are known.
 */
function codexMeter(): StreamWays['measure'] {
  const requests = new Map<string, UsageDelta>();
  let total: UsageDelta | null = null;
  return (message) => {
    if (message.kind === 'billed') requests.set(message.id ?? '', message.usage);
    else if (message.kind === 'result') total = message.usage ?? total;
    else return null;
    const all = [...requests.values()];
    if (total === null && all.length === 0) return { usage: null, costUsd: null };
    const sum = (kind: keyof UsageDelta): number => all.reduce((tokens, usage) => tokens + usage[kind], 0);
    return { usage: tokens((kind) => Math.max(total?.[kind] ?? 0, sum(kind))), costUsd: null };
  };
}

/** Sends SIGINT to Codex itself. */
function interrupt(pid: number | null): void {
  if (pid === null) return;
  try {
    process.kill(pid, 'SIGINT');
  } catch (error) {
    // It has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Classifies a run that did not begin because of its options or its configuration, which a retry would not change. */
function refusedOptions(facts: RunFacts, { code, endedBy }: RunExit, complaint: string): RunOutcome | null {
  if (facts.sessionId !== null || endedBy !== null || (code !== 1 && code !== 2)) return null;
  const [first = ''] = complaint.split('\n').filter((line) => /^error\b/i.test(line));
  return first === '' ? null : refusedStart('Codex', first);
}

/**
 * Reads lines of `codex exec --json`; null for a line that is no object. Accepts unknown types and fields. Calls `onThread` with the
 * id of the thread and of each subagent's.
 */
export function eventReader(onThread: (id: string) => void): (line: string) => readonly AgentMessage[] | null {
  /** Calls that were announced before they ended. */
  const open = new Set<string>();
  let text = '';
  return (line) => {
    const event = parseFields(line);
    if (event === null) return null;
    const item = fieldsOf(event['item']);
    for (const id of threadsOf(event, item)) onThread(id);
    switch (event['type']) {
      case 'thread.started':
        return [{ kind: 'session', sessionId: textOf(event['thread_id']), model: null }];
      case 'item.started': {
        const call = callOf(item);
        if (call !== null) open.add(call.id);
        return call === null ? [] : [call];
      }
      case 'item.completed': {
        if (item['type'] === 'agent_message') {
          text = textOf(item['text']);
          return [{ kind: 'text', text }];
        }
        const call = callOf(item);
        if (call === null) return [];
        const result: AgentMessage = { kind: 'tool-result', id: call.id, failed: hasFailed(item), nested: false };
        return open.delete(call.id) ? [result] : [call, result];
      }
      case 'error':
        return [failure(textOf(event['message']))];
      case 'turn.completed':
        return [{ kind: 'result', ...endedWell(text), usage: usageOf(fieldsOf(event['usage'])) }];
      case 'turn.failed': {
        const { error, message, status } = apiFailure(textOf(fieldsOf(event['error'])['message']));
        const terminalReason = error === 'prompt_too_long' ? error : 'api_error';
        const failed = { subtype: 'error', isError: true, terminalReason, apiStatus: status, text: message };
        return [{ kind: 'result', ...endedWell(''), ...failed }];
      }
      default:
        return [];
    }
  };
}

function threadsOf(event: Fields, item: Fields): string[] {
  return [textOf(event['thread_id']), ...stringsOf(item['receiver_thread_ids'])].filter((id) => id !== '');
}

/** Returns the tool call that an item is about; null for another item. The names are those that hooks get. */
function callOf(item: Fields): Extract<AgentMessage, { kind: 'tool' }> | null {
  const named = namedCall(item);
  if (named === null) return null;
  return { kind: 'tool', id: textOf(item['id']), name: named[0], input: named[1], nested: false };
}

function namedCall(item: Fields): readonly [name: string, input: Fields] | null {
  switch (item['type']) {
    case 'command_execution':
      return ['Bash', { command: withoutShell(textOf(item['command'])) }];
    case 'file_change': {
      const paths = listOf(item['changes']).map(({ path }) => textOf(path));
      return ['apply_patch', { file_path: paths.join(', ') }];
    }
    case 'mcp_tool_call':
      return [`mcp__${textOf(item['server'])}__${textOf(item['tool'])}`, fieldsOf(item['arguments'])];
    case 'web_search':
      return ['web_search', { query: textOf(item['query']) }];
    case 'collab_tool_call':
      return [textOf(item['tool']), { description: textOf(item['prompt']) }];
    default:
      return null;
  }
}

/** Returns the command as the agent wrote it, without the shell that Codex runs it in. */
function withoutShell(shown: string): string {
  const [words = []] = /^\S+ -l?c /.test(shown) ? commandWords(shown) : [];
  return words.length === 3 ? (words[2] ?? shown) : shown;
}

function hasFailed(item: Fields): boolean {
  return item['status'] === 'failed' || (typeof item['exit_code'] === 'number' && item['exit_code'] !== 0);
}

/** Returns a retry (`Reconnecting... 1/5 (why)`) or the error that ends the turn. */
function failure(message: string): AgentMessage {
  const [, attempt, why = ''] = /^Reconnecting\.\.\. (\d+)\/\d+(?: \((.*)\))?$/s.exec(message) ?? [];
  if (attempt === undefined) return { kind: 'api-error', ...apiFailure(message) };
  const isRefused = apiFailure(why).status === 401;
  return { kind: 'retry', attempt: Number(attempt), error: isRefused ? 'authentication_failed' : why };
}
