import { randomUUID } from 'node:crypto';
import { tokens, type UsageDelta } from '../../../engine/events.ts';
import { billedTokens } from '../../../engine/policy/budget.ts';
import { addTokens, type Totals } from '../transcript/transcript.ts';
import { type AgentMessage, addFact, NO_FACTS, type RunFacts } from './agent-message.ts';
import { type AgentRun, type ProgramOptions, startAgentProcess } from './agent-run.ts';
import { backgroundWork } from './background-work.ts';
import { classifyRun, type EndedBy, refusedOptions } from './classify-run.ts';
import { readMessages } from './read-messages.ts';

/** Maximum size of a line in bytes; one tool result can contain a whole file. */
const LONGEST_LINE = 10 * 1024 * 1024;
/** Consecutive refused logins after which a run is ended; a single one may be a token that is being renewed. */
const REFUSED_LOGINS = 3;

const FLAGS = [
  ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
  // Only partial messages have the tokens of a message that is never finished.
  ...['--include-hook-events', '--replay-user-messages', '--include-partial-messages'],
];
const POLITE_MS = 5_000;
/** The same for a run that exceeds its budget, which must have ended within five seconds. */
const POLITE_MS_OF_BUDGET = 1_000;

/** Starts the client for one run and sends the prompt. Its input stays open for messages until its turn is over. */
export function startAgent(options: ProgramOptions): AgentRun {
  const { program, args, cwd, silenceMs, timeMs, lingerMs, allowance } = options;
  let facts: RunFacts = NO_FACTS;
  let requests = 0;
  let ending: { readonly why: EndedBy; readonly force: NodeJS.Timeout } | null = null;
  let stopped = false;
  const meter = usageMeter();
  const promptId = randomUUID();
  /** A client that does not confirm the prompt would not confirm later messages either. */
  let acknowledges = false;
  const unacknowledged = new Set<string>();
  const background = backgroundWork(options);
  const hear = (message: AgentMessage): void => {
    // A client may begin another turn before it exits; it is ignored.
    if (stopped) return;
    if (message.kind === 'acknowledged' && message.id === promptId) {
      acknowledges = true;
      return;
    }
    if (message.kind === 'acknowledged') unacknowledged.delete(message.id);
    facts = addFact(facts, message);
    background.hear(message);
    measure(message);
    if (message.kind !== 'billed') options.onMessage(message);
    if (message.kind === 'result') client.closeInput();
    if (message.kind === 'result' && ending !== null) {
      stopped = true;
      client.end(ending.why);
    }
    if (options.guarded && facts.unguarded) client.end('unguarded');
    if (facts.refusedLogins >= REFUSED_LOGINS) client.end('login');
  };
  const measure = (message: AgentMessage): void => {
    if (message.kind === 'request') meter.begin(message.id);
    else if (message.kind === 'billed') meter.note(message.id, message.usage);
    else if (message.kind === 'result' && message.usage !== null) meter.total(message.usage, message.costUsd);
    else return;
    facts = { ...facts, ...meter.read() };
    if (message.kind !== 'request') options.onUsage?.(facts);
    const { tokens: most } = allowance;
    if (most !== null && facts.usage !== null && billedTokens(facts.usage) >= most) end('budget');
  };
  const lose = (): void => {
    facts = { ...facts, lostLines: facts.lostLines + 1 };
  };
  const readLine = (line: string): void => {
    const messages = line.trim() === '' ? [] : readMessages(line);
    if (messages === null) lose();
    else messages.forEach(hear);
  };
  const lines = byteLines(LONGEST_LINE, readLine, lose);
  const { allowed = [], permissions } = options;
  const client = startAgentProcess({
    program,
    args: [
      ...FLAGS,
      ...withBudget(args, allowance.costUsd),
      ...(allowed.length === 0 ? [] : ['--allowedTools', ...allowed]),
    ],
    cwd,
    env: { ...options.env, CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS: String(lingerMs) },
    onStart: options.onStart,
    onOutput: lines.add,
    errorsShowLife: false,
    overdue: (silent, running) => {
      const atWork = facts.result === null;
      if (allowance.timeMs !== null && running >= allowance.timeMs) end('budget');
      // Background work of the turn has the same time limit as in a session.
      if (!atWork) return background.isOver(silent) || (timeMs !== null && running > timeMs) ? 'lingering' : null;
      if (silent > silenceMs) end('silence');
      else if (timeMs !== null && running > timeMs) end('time');
      return null;
    },
  });
  const say = (line: object): boolean => client.write(`${JSON.stringify(line)}\n`);
  const request = (what: object): void => {
    requests += 1;
    say({ type: 'control_request', request_id: `ralph-${requests}`, request: what });
  };
  const end = (why: EndedBy, force = false): void => {
    if (force || facts.result !== null) client.end(ending?.why ?? why);
    if (force || facts.result !== null || ending !== null) return;
    const politeMs = why === 'budget' ? POLITE_MS_OF_BUDGET : POLITE_MS;
    ending = { why, force: setTimeout(() => client.end(why), politeMs) };
    // A waiting message would begin another turn.
    for (const id of unacknowledged) request({ subtype: 'cancel_async_message', message_uuid: id });
    request({ subtype: 'interrupt' });
  };
  say(userMessage(options.prompt, promptId));
  return {
    pid: client.pid,
    done: client.done.then(({ exit, durationMs, complaint }) => {
      if (lines.end()) lose();
      clearTimeout(ending?.force);
      const whole = { ...exit, endedBy: exit.endedBy ?? ending?.why ?? null };
      const outcome = refusedOptions(facts, whole, complaint) ?? classifyRun(facts, whole);
      return { outcome, facts, durationMs, complaint };
    }),
    send: (text, id) => {
      unacknowledged.add(id);
      const isSent = say(userMessage(text, id));
      if (isSent && !acknowledges) hear({ kind: 'acknowledged', id });
      return isSent;
    },
    // The client replaces the permissions of the settings that it was started with, so these come again.
    allow: (rules) => {
      const allow = [...(permissions?.allow ?? []), ...rules];
      request({ subtype: 'apply_flag_settings', settings: { permissions: { ...permissions, allow } } });
    },
    end,
  };
}

const BUDGET = '--max-budget-usd';

/** Returns the client's options with a limit of its cost in dollars, below that of the user's own options. */
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

const NEWLINE = 0x0a;

/** Splits a stream of bytes into lines. Drops a line over `limit` bytes and calls `onTooLong` once for it. */
export function byteLines(limit: number, onLine: (line: string) => void, onTooLong: () => void) {
  let held: Buffer[] = [];
  let size = 0;
  let skipping = false;
  const keep = (part: Buffer): void => {
    if (skipping || part.length === 0) return;
    size += part.length;
    if (size <= limit) {
      held.push(part);
      return;
    }
    skipping = true;
    held = [];
    onTooLong();
  };
  const finish = (): void => {
    const line = held;
    const complete = !skipping && size > 0;
    held = [];
    size = 0;
    skipping = false;
    if (complete) onLine(Buffer.concat(line).toString('utf8'));
  };
  return {
    add: (chunk: Buffer): void => {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      keep(chunk.subarray(from));
    },
    /** Ends the stream; returns true if its last line was unterminated and therefore not passed on. */
    end: (): boolean => {
      const torn = size > 0 && !skipping;
      held = [];
      size = 0;
      return torn;
    },
  };
}

/** Counts the tokens of one agent run continuously, and exactly as soon as the client reports its own totals. */
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
    /** Records the tokens of a message so far: its lines repeat them, and only the last ones have all of its output. */
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
      // The client's totals lack interrupted requests: without a token, they say nothing about the cost.
      sum = tokens((kind) => Math.max(usage[kind], streamed[kind]));
      cost = costUsd;
      isPriced = costUsd !== null && (costUsd > 0 || isAny(usage));
    },
    /** Returns the usage; null if nothing is known to be billed. `costUsd` is null if part of it has an unknown cost. */
    read: () => ({
      usage: isPriced || isAny(sum) ? { ...sum } : null,
      costUsd: isPriced ? cost : null,
    }),
  };
}

function isAny(usage: UsageDelta): boolean {
  return Object.values(usage).some((count) => count > 0);
}
