import { randomUUID } from 'node:crypto';
import { bindSession } from '../../engine/initial-state.ts';
import { allowanceOf, knownSpent, reachedWindow, smallerAllowance } from '../../engine/policy/budget.ts';
import { timeSpent } from '../../engine/policy/loop-time.ts';
import { wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import { hasRules } from '../../guard/guard.ts';
import type { AgentMessage } from '../../hosts/agent/agent-message.ts';
import type { FinishedRun } from '../../hosts/agent/agent-run.ts';
import { lastWhere } from '../../state/event-stream.ts';
import { noticesOf } from '../../state/loop-files.ts';
import { identityOf } from '../../state/process/identity.ts';
import { isBefore } from '../../text/time.ts';
import { restoreMidTurn } from '../control/restore-protected.ts';
import { traceEnvironment } from '../records/export-telemetry.ts';
import { recordEvent } from '../records/journal.ts';
import { backgroundWait } from '../turn/background-wait.ts';
import { type Prompt, type Turn, withTurnState } from '../turn/turn.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { countUsage, now, type Runner, restoreRewrittenState } from './runner.ts';
import { activityOf } from './watch-agent.ts';

/** Runs the agent once, to its end, and journals its outcome and cost. */
export async function runAgent(
  runner: Runner,
  turn: Turn,
  prompt: Prompt,
): Promise<{ readonly turn: Turn; readonly run: FinishedRun }> {
  const { options, files } = runner;
  const { policy, stored } = turn.loaded;
  const sessionId = randomUUID();
  const startedAt = turn.context.now();
  const bound = bind(turn, sessionId);
  const count = countUsage(runner, bound);
  const activity = activityOf(runner, stored);
  const { loopId, iteration, idleIterations } = bound.loaded.state;
  const trace = await traceEnvironment(loopId, iteration + idleIterations + 1, options.env);
  const agent = options.startAgent(sessionId, {
    cwd: files.projectDir,
    env: { ...options.env, ...options.agentEnv, ...trace },
    prompt: wholePrompt(prompt.assembled),
    silenceMs: options.timeouts.silenceMs,
    timeMs: policy.pace.iterationTimeoutMs,
    allowance: smallerAllowance(
      allowanceOf(knownSpent(runner.spent.total), timeSpent(bound.loaded.state, startedAt), policy.budget),
      runner.shared,
    ),
    lingerMs: policy.backgroundWaitMs,
    onLinger: (message, commands) =>
      backgroundWait({
        projectDir: files.projectDir,
        env: options.env,
        policy,
        message,
        commands,
        tell: (text) => options.tell({ type: 'agent.notice', message: text }),
      }),
    allowed: [...runner.allowed],
    guarded: stored !== null && hasRules(stored.contract.guardrails),
    wasGuarded: () => wasGuarded(files, loopId, startedAt),
    onStart: runner.lease.noteAgent,
    onMessage: (message) => {
      if (options.live !== undefined || !LIVE_ONLY.has(message.kind)) activity(message);
    },
    onUsage: count,
  });
  runner.sent.clear();
  runner.interrupted = false;
  runner.agent = agent;
  const run = await agent.done;
  runner.agent = null;
  tellRestored(runner, bound, run, startedAt);
  runner.spent.durationMs += run.durationMs;
  const restored = bound.signal().aborted
    ? null
    : (restoreRewrittenState(runner, bound) ?? wentBackSince(runner, startedAt));
  const failed = count(run.facts);
  if (failed !== null) throw failed;
  record(runner, bound, run);
  return { turn: { ...bound, loaded: { ...bound.loaded, restored } }, run };
}

const UNCOUNTED: ReadonlySet<FinishedRun['outcome']['kind']> = new Set([
  ...(['rate-limited', 'authentication', 'billing', 'invalid-request', 'unguarded', 'options'] as const),
  ...(['overloaded', 'crashed'] as const),
]);

/** Restores what no end of an iteration will, and tells what was restored since this instant, or kept as the user's change. */
function tellRestored(runner: Runner, { loaded: { state, stored } }: Turn, run: FinishedRun, since: string): void {
  const { files, loopId, options } = runner;
  const isUnseen = run.outcome.kind === 'unguarded' || stored?.contract.agent !== undefined;
  if (isUncounted(runner, run)) restoreMidTurn(files, state, { env: options.env, at: now(), isUnseen });
  for (const { at, kind, text: message } of noticesOf(files, loopId))
    if (at >= since && ['restore', 'change'].includes(kind)) options.tell({ type: 'agent.notice', message });
}

/** Returns whether no end of an iteration, which would examine the protected files, follows this run. */
function isUncounted({ leave, interrupted }: Runner, { outcome: { kind } }: FinishedRun): boolean {
  // The runner that has taken the loop over examines them.
  if (leave.signal.aborted) return leave.signal.reason !== 'lease-lost';
  return UNCOUNTED.has(kind) || (interrupted && kind !== 'ok');
}

/** Returns whether the guard was asked about a call of this loop since this instant: it records each call before it runs. */
function wasGuarded(files: Runner['files'], loopId: string, since: string): boolean {
  const last = lastWhere(files, loopId, ['tool.asked', 'tool.denied']);
  return last !== null && !isBefore(String(last['at']), since);
}

/** Messages that are shown only to a watching user. */
const LIVE_ONLY: ReadonlySet<AgentMessage['kind']> = new Set(['request', 'answered']);

/** Returns the warning about an older state that has replaced the loop's since this instant; null if there was none. */
function wentBackSince({ files, loopId }: Runner, since: string): string | null {
  return noticesOf(files, loopId).findLast(({ at, kind }) => kind === 'counters' && at >= since)?.text ?? null;
}

function record(runner: Runner, { context, loaded }: Turn, { facts, outcome, durationMs }: FinishedRun): void {
  const { options, files, loopId } = runner;
  const { usage, costUsd } = facts;
  const at = context.now();
  const heldUntil = reachedWindow(facts.windows, loaded.policy.budget, at)?.resetsAt;
  if (facts.lostLines > 0) options.tell({ type: 'agent.notice', message: RUNNER_TEXTS.lostLines(facts.lostLines) });
  const ended = {
    iteration: loaded.state.iteration + 1,
    outcome: outcome.kind,
    message: outcome.message,
    durationMs,
    turns: facts.result?.turns ?? null,
    toolCalls: facts.toolCalls,
    model: facts.model,
    costUsd,
    usage,
    ...(heldUntil && { heldUntil }),
  };
  options.tell({ type: 'agent.ended', ...ended });
  recordEvent(files, at, { type: 'agent.ended', at, loopId, ...ended });
}

/** Binds the loop to the agent's session, with this process as its client, so that others can see that it is alive. */
function bind(turn: Turn, sessionId: string): Turn {
  const { loaded } = turn;
  const { pid, startedAt } = identityOf(process.pid);
  return withTurnState<Turn>(turn, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loaded.state.loopId) return { next: 'keep', result: turn };
    const state = bindSession(current.state, { sessionId, clientPid: pid, clientStartedAt: startedAt });
    return { next: state, result: { ...turn, loaded: { ...loaded, state } } };
  });
}
