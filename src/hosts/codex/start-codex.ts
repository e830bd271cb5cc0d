import { tokens, type UsageDelta } from '../../engine/events.ts';
import { billedTokens } from '../../engine/policy/budget.ts';
import { shorten } from '../../text/excerpt.ts';
import { type AgentMessage, addFact, NO_FACTS, type RunFacts } from '../claude/agent/agent-message.ts';
import { type AgentRun, type ProgramOptions, startAgentProcess } from '../claude/agent/agent-run.ts';
import { classifyRun, type EndedBy, type RunExit, type RunOutcome } from '../claude/agent/classify-run.ts';
import { byteLines } from '../claude/agent/start-claude.ts';
import { eventReader } from './read-events.ts';
import { rolloutReader } from './rollout.ts';

/** Maximum size of a line in bytes; one holds the whole output of a command. */
const LONGEST_LINE = 10 * 1024 * 1024;
const QUOTE = 300;
/** Time for Codex to end its commands after SIGINT, which a SIGTERM would leave running. */
const POLITE_MS = 5_000;
/** The same for a run that exceeds its budget, which must have ended within five seconds. */
const POLITE_MS_OF_BUDGET = 3_000;
/** Interval at which the rollouts are read. */
const ROLLOUT_MS = 1_000;

/** Starts Codex for one turn and sends the prompt. It takes no message while it runs: hooks deliver steering. */
export function startCodex(options: ProgramOptions): AgentRun {
  const { program, args, cwd, env, silenceMs, timeMs, allowance } = options;
  const rollouts = rolloutReader(env);
  const readEvents = eventReader(rollouts.follow);
  const meter = codexMeter();
  let facts: RunFacts = NO_FACTS;
  let ending: { readonly why: EndedBy; readonly force: NodeJS.Timeout } | null = null;
  let readAt = 0;
  const hear = (message: AgentMessage): void => {
    // Codex reports no hooks: ours record each call.
    if (message.kind === 'tool-result' && facts.guardedCalls === 0 && options.wasGuarded?.() === true)
      facts = addFact(facts, { kind: 'hook', event: 'PreToolUse' });
    facts = addFact(facts, message);
    if (message.kind === 'billed' || message.kind === 'result') measure(message);
    if (message.kind !== 'billed') options.onMessage(message);
    if (options.guarded && facts.unguarded) agent.end('unguarded');
  };
  const measure = (message: Extract<AgentMessage, { kind: 'billed' | 'result' }>): void => {
    if (message.kind === 'billed') meter.note(message.id ?? '', message.usage);
    else if (message.usage !== null) meter.total(message.usage);
    facts = { ...facts, usage: meter.read() };
    options.onUsage?.(facts);
    const { tokens: most } = allowance;
    if (most !== null && facts.usage !== null && billedTokens(facts.usage) >= most) end('budget');
  };
  const lose = (): void => {
    facts = { ...facts, lostLines: facts.lostLines + 1 };
  };
  const lines = byteLines(
    LONGEST_LINE,
    (line) => {
      if (line.trim() === '') return;
      const messages = readEvents(line);
      if (messages === null) lose();
      else messages.forEach(hear);
    },
    lose,
  );
  const agent = startAgentProcess({
    program,
    args,
    cwd,
    env,
    onStart: options.onStart,
    onOutput: lines.add,
    errorsShowLife: false,
    overdue: (silent, running) => {
      if (Date.now() - readAt >= ROLLOUT_MS) {
        readAt = Date.now();
        rollouts.read().forEach(hear);
      }
      if (facts.result !== null) return null;
      if (allowance.timeMs !== null && running >= allowance.timeMs) end('budget');
      else if (silent > silenceMs) end('silence');
      else if (timeMs !== null && running > timeMs) end('time');
      return null;
    },
  });
  const end = (why: EndedBy, force = false): void => {
    if (force || facts.result !== null) agent.end(ending?.why ?? why);
    if (force || facts.result !== null || ending !== null) return;
    const politeMs = why === 'budget' ? POLITE_MS_OF_BUDGET : POLITE_MS;
    ending = { why, force: setTimeout(() => agent.end(why), politeMs) };
    interrupt(agent.pid);
  };
  agent.write(options.prompt);
  agent.closeInput();
  return {
    pid: agent.pid,
    done: agent.done.then(({ exit, durationMs, complaint }) => {
      if (lines.end()) lose();
      clearTimeout(ending?.force);
      rollouts.read().forEach(hear);
      const whole = { ...exit, endedBy: exit.endedBy ?? ending?.why ?? null };
      const outcome = refusedStart(facts, whole, complaint) ?? classifyRun(facts, whole);
      return { outcome, facts, durationMs, complaint };
    }),
    send: () => false,
    // Only our guard denies a call there.
    allow: () => undefined,
    end,
  };
}

/**
 * Counts the tokens of a run: those of each request, and at the end of a turn Codex's own total, which lacks subagents. Returns
 * null while none are known.
 */
function codexMeter() {
  const requests = new Map<string, UsageDelta>();
  let total: UsageDelta | null = null;
  return {
    note: (id: string, usage: UsageDelta): void => void requests.set(id, usage),
    total: (usage: UsageDelta): void => {
      total = usage;
    },
    read: (): UsageDelta | null => {
      if (total === null && requests.size === 0) return null;
      const all = [...requests.values()];
      return tokens((kind) =>
        Math.max(
          total?.[kind] ?? 0,
          all.reduce((sum, usage) => sum + usage[kind], 0),
        ),
      );
    },
  };
}

/** Sends SIGINT to Codex itself: its commands lead groups of their own, which it ends. */
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
function refusedStart(facts: RunFacts, { code, endedBy }: RunExit, complaint: string): RunOutcome | null {
  if (facts.sessionId !== null || endedBy !== null || (code !== 1 && code !== 2)) return null;
  const [first = ''] = complaint.split('\n').filter((line) => /^error\b/i.test(line));
  if (first === '') return null;
  return { kind: 'options', message: `Codex refused to start: ${shorten(first.replace(/^error:? /i, ''), QUOTE)}` };
}
