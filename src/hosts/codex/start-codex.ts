import { tokens, type UsageDelta } from '../../engine/events.ts';
import { shorten } from '../../text/quote.ts';
import type { RunFacts } from '../agent/agent-message.ts';
import type { AgentRun, ProgramOptions } from '../agent/agent-run.ts';
import type { RunExit, RunOutcome } from '../agent/classify-run.ts';
import { StreamRun, type StreamWays } from '../agent/stream-run.ts';
import { eventReader } from './read-events.ts';
import { rolloutReader } from './rollout.ts';

const QUOTE = 300;
/** Interval at which the rollouts are read. */
const ROLLOUT_MS = 1_000;

/** Starts Codex for one turn and sends the prompt. It takes no message while it runs: hooks deliver steering. */
export function startCodex(options: ProgramOptions): AgentRun {
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
    refused: refusedStart,
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
function refusedStart(facts: RunFacts, { code, endedBy }: RunExit, complaint: string): RunOutcome | null {
  if (facts.sessionId !== null || endedBy !== null || (code !== 1 && code !== 2)) return null;
  const [first = ''] = complaint.split('\n').filter((line) => /^error\b/i.test(line));
  if (first === '') return null;
  return { kind: 'options', message: `Codex refused to start: ${shorten(first.replace(/^error:? /i, ''), QUOTE)}` };
}
