import { randomUUID } from 'node:crypto';
import { tokens, type UsageDelta } from '../../../engine/events.ts';
import type { AgentMessage, BackgroundTask, RunFacts } from '../../agent/agent-message.ts';
import type { AgentOptions, AgentRun, ProgramOptions } from '../../agent/agent-run.ts';
import { type RunExit, type RunOutcome, refusedStart } from '../../agent/classify-run.ts';
import { StreamRun, type StreamWays } from '../../agent/stream-run.ts';
import { addTokens, type Totals } from '../transcript/transcript.ts';
import { readMessages } from './read-messages.ts';

/** Consecutive refused logins after which a run is ended; a single one may mean that a token is being renewed. */
const REFUSED_LOGINS = 3;

const FLAGS = [
  ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
  // Only partial messages contain the tokens of a message that is never finished.
  ...['--include-hook-events', '--replay-user-messages', '--include-partial-messages'],
];

/** Starts the client for one run and sends the prompt. Its input stays open for messages until its turn is over. */
export function startAgent(options: ProgramOptions): AgentRun {
  const { args, allowed = [], permissions, lingerMs, allowance } = options;
  const background = backgroundWork(options);
  const inbox = messagesTo((line) => run.process.write(`${JSON.stringify(line)}\n`));
  let stopped = false;
  const run: StreamRun = new StreamRun(options, {
    args: [
      ...FLAGS,
      ...withBudget(args, allowance.costUsd),
      ...(allowed.length === 0 ? [] : ['--allowedTools', ...allowed]),
    ],
    env: { ...options.env, CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS: String(lingerMs) },
    politeMsOfBudget: 1_000,
    read: readMessages,
    measure: measuring(),
    // A client may begin another turn before it exits, which is ignored.
    before: (message) => !stopped && (message.kind !== 'acknowledged' || inbox.acknowledged(message.id)),
    after: (message, { refusedLogins }) => {
      background.hear(message);
      if (message.kind === 'result') {
        run.process.closeInput();
        stopped = run.endedFor !== null;
        if (run.endedFor !== null) run.process.end(run.endedFor);
      }
      if (refusedLogins >= REFUSED_LOGINS) run.process.end('login');
    },
    look: () => undefined,
    isOverdue: background.isOver,
    interrupt: inbox.interrupt,
    refused: refusedOptions,
  });
  inbox.begin(options.prompt);
  return {
    pid: run.process.pid,
    done: run.finished(),
    send: (text, id) => {
      const isSent = inbox.send(text, id);
      if (isSent && !inbox.acknowledges()) run.hear({ kind: 'acknowledged', id });
      return isSent;
    },
    // The client replaces the permissions of its start settings, so these are repeated.
    allow: (rules) => {
      const allow = [...(permissions?.allow ?? []), ...rules];
      inbox.request({ subtype: 'apply_flag_settings', settings: { permissions: { ...permissions, allow } } });
    },
    end: run.end,
  };
}

/** Writes to the client, and tracks the messages that it has not confirmed. */
function messagesTo(say: (line: object) => boolean) {
  const promptId = randomUUID();
  /** A client that does not confirm the prompt would not confirm later messages either. */
  let acknowledges = false;
  let requests = 0;
  const waiting = new Set<string>();
  const request = (what: object): void => {
    requests += 1;
    say({ type: 'control_request', request_id: `ralph-${requests}`, request: what });
  };
  return {
    request,
    begin: (prompt: string): void => void say(userMessage(prompt, promptId)),
    send: (text: string, id: string): boolean => {
      waiting.add(id);
      return say(userMessage(text, id));
    },
    acknowledges: () => acknowledges,
    /** Records a confirmation; returns false if it is that of the prompt. */
    acknowledged: (id: string): boolean => {
      waiting.delete(id);
      acknowledges ||= id === promptId;
      return id !== promptId;
    },
    interrupt: (): void => {
      // A message that still waits would begin another turn.
      for (const id of waiting) request({ subtype: 'cancel_async_message', message_uuid: id });
      request({ subtype: 'interrupt' });
    },
  };
}

/** Returns a function that counts each message that bills tokens. */
function measuring(): StreamWays['measure'] {
  const meter = usageMeter();
  return (message) => {
    if (message.kind === 'request') meter.begin(message.id);
    else if (message.kind === 'billed') meter.note(message.id, message.usage);
    else if (message.kind === 'result' && message.usage !== null) meter.total(message.usage, message.costUsd);
    else return null;
    return meter.read();
  };
}

const BUDGET = '--max-budget-usd';

/** Returns the client's options with a cost limit in dollars, unless the user's own options set a lower one. */
function withBudget(args: readonly string[], costUsd: number | null): readonly string[] {
  if (costUsd === null) return args;
  const given = args.flatMap((word, at) =>
    word === BUDGET
      ? [Number(args[at + 1])]
      : word.startsWith(`${BUDGET}=`)
        ? [Number(word.slice(BUDGET.length + 1))]
        : [],
  );
  // The last one counts. The client refuses 0.
  const least = Math.max(SMALLEST_BUDGET, Math.min(costUsd, ...given.filter((usd) => usd > 0)));
  return [...args, BUDGET, (Math.ceil(least / SMALLEST_BUDGET) * SMALLEST_BUDGET).toFixed(6)];
}

const SMALLEST_BUDGET = 1e-6;

function userMessage(text: string, uuid: string): object {
  return { type: 'user', uuid, message: { role: 'user', content: [{ type: 'text', text }] } };
}

/**
 * Classifies a run by the client's complaint on standard error about its options, settings or files, which a retry
 * would not change; null if it has begun to work or ended for another reason. Measured with 2.1.213 and 2.1.330: exit
 * code 1, and the error is the first line after warnings.
 */
export function refusedOptions(facts: RunFacts, { code, endedBy }: RunExit, complaint: string): RunOutcome | null {
  if (code !== 1 || endedBy !== null || facts.sessionId !== null) return null;
  const lines = complaint.split('\n').filter((line) => line.trim() !== '' && !/^warning\b/i.test(line));
  const [first = ''] = lines;
  // A system call that failed, such as EMFILE, may succeed later.
  return /^error: (?!E[A-Z]{3,}\b)|^--[a-z]/i.test(first) ? refusedStart('Claude Code', lines.join(' ')) : null;
}

/** Counts the tokens of one agent run continuously, and exactly once the client reports its own totals. */
export function usageMeter() {
  const messages = new Map<string, Totals>();
  const streamed = tokens(() => 0);
  let sum = tokens(() => 0);
  let isPriced = false;
  let cost: number | null = null;
  let current = '';
  return {
    begin: (id: string): void => {
      current = id;
    },
    /** Records the tokens of a message so far: its lines repeat them, and only the last one has all of its output. */
    note: (id: string | null, usage: UsageDelta): void => {
      const known = messages.get(id ?? current) ?? tokens(() => 0);
      const more = tokens((kind) => Math.max(0, usage[kind] - known[kind]));
      for (const total of [known, streamed, sum]) addTokens(total, more);
      messages.set(id ?? current, known);
      // Another turn of the same run has begun.
      if (isAny(more)) isPriced = false;
    },
    /** Records the client's totals of the run so far, which include tokens missing from its stream. */
    total: (usage: UsageDelta, costUsd: number | null): void => {
      // The client's totals lack interrupted requests: without any token, they say nothing about the cost.
      sum = tokens((kind) => Math.max(usage[kind], streamed[kind]));
      cost = costUsd;
      isPriced = costUsd !== null && (costUsd > 0 || isAny(usage));
    },
    /** Returns the usage; null if nothing is known to be billed. `costUsd` is null if the cost of a part is unknown. */
    read: () => ({
      usage: isPriced || isAny(sum) ? { ...sum } : null,
      costUsd: isPriced ? cost : null,
    }),
  };
}

function isAny(usage: UsageDelta): boolean {
  return Object.values(usage).some((count) => count > 0);
}

/** Silence after a turn that shows that the client is waiting for something. */
const SETTLE_MS = 2_000;

/** Follows an agent's background work, for which its client waits after the last turn. */
function backgroundWork({ lingerMs, onLinger }: Pick<AgentOptions, 'lingerMs' | 'onLinger'>) {
  /** Commands of the calls and background work that have not ended, by id. */
  const commands = new Map<string, string>();
  let tasks: readonly BackgroundTask[] = [];
  let message = '';
  let next: (() => number | null) | null = null;
  let limitMs = lingerMs;
  const restart = (): void => {
    next = null;
    limitMs = lingerMs;
  };
  return {
    hear: (heard: AgentMessage): void => {
      if (heard.kind === 'tool') commands.set(heard.id, String(heard.input['command'] ?? ''));
      else if (heard.kind === 'tool-result') commands.delete(heard.id);
      else if (heard.kind === 'background-started') commands.set(heard.id, commands.get(heard.call) ?? '');
      else if (heard.kind === 'background') {
        tasks = heard.tasks;
        restart();
      } else if (heard.kind === 'result') {
        message = heard.text;
        restart();
      }
    },
    /** Returns whether the work has been awaited long enough, after this much silence since the turn. */
    isOver: (silentMs: number): boolean => {
      if (next === null && silentMs > SETTLE_MS && tasks.length > 0 && onLinger !== undefined) {
        next = onLinger(
          message,
          tasks.map(({ id, name, isShell }) => (isShell ? commands.get(id) || name : null)),
        );
        limitMs = next() ?? 0;
      }
      if (silentMs <= limitMs) return false;
      const more = next?.() ?? null;
      limitMs += more ?? 0;
      return more === null;
    },
  };
}
