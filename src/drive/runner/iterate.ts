import { randomUUID } from 'node:crypto';
import type { FinishedRun } from '../../claude/agent/agent-run.ts';
import type { Effect } from '../../engine/effects.ts';
import { bindSession } from '../../engine/resume-state.ts';
import { hasRules } from '../../guard/guard-rules.ts';
import { identityOf } from '../../state/process/identity.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { openPlan } from '../plan/on-plan.ts';
import { readTask } from '../prompt/read-task.ts';
import { recordJournal } from '../records/journal.ts';
import { freshPrompt } from '../turn/make-prompt.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { feed, isStep, type Loaded } from '../turn/turn.ts';
import { waitOut } from '../turn/wait.ts';
import { watchAgent } from './agent-activity.ts';
import { endIteration } from './end-iteration.ts';
import { sumCost, sumUsage } from './failed-run-usage.ts';
import { RUNNER_TEXTS } from './messages.ts';
import type { Runner } from './runner.ts';
import { backOff, MOST_RETRIES, mendState } from './runner.ts';
import { heard } from './watch-operator.ts';

/**
 * One iteration: makes its prompt, has a fresh agent work on it, again where the run broke, and tells the engine what
 * came of it. Gives what follows; nothing where the runner has to leave.
 */
export async function iterate(
  runner: Runner,
  told: Extract<Effect, { type: 'prompt' }>,
  stored: NonNullable<Loaded['stored']>,
): Promise<readonly Effect[]> {
  const { files, leave, options } = runner;
  const instead = await openPlan(runner.turn, (message) => options.tell({ type: 'notice', message }));
  if (instead !== null) return instead;
  const { state } = runner.turn.loaded;
  const task = readTask(files.projectDir, state.taskPath);
  if (task === null) {
    return fail(runner, 'task-missing', HOOK_TEXTS.taskMissing(state.taskPath));
  }
  const { iteration, maxIterations } = state;
  options.tell({ type: 'iteration-started', iteration: iteration + 1, maxIterations });
  const made = await freshPrompt(runner.turn, stored, told, task.body, options.tell);
  if (made === 'aborted') return [];
  for (;;) {
    const ready = feed(runner.turn, { type: 'prompt-made', at: runner.turn.context.now(), outcome: 'ready' });
    if (ready.some(isStep) || leave.signal.aborted) return ready;
    // Whoever stood in its way is gone again: it is made anew.
    if (made === 'overtaken') return [told];
    if (told.steering.length > 0 && runner.broken === 0) {
      options.tell({ type: 'steered', texts: told.steering.map(({ text }) => text) });
    }
    const run = await runAgent(runner, stored, made.prompt);
    if (leave.signal.aborted) return [];
    const warning = mendState(runner);
    const after = await outcomeOf(runner, run, stored, warning);
    if (after !== 'again') return after;
  }
}

async function outcomeOf(
  runner: Runner,
  run: FinishedRun,
  stored: NonNullable<Loaded['stored']>,
  warning: string | null,
): Promise<readonly Effect[] | 'again'> {
  const { outcome } = run;
  const { turn } = runner;
  if (outcome.kind !== 'overloaded' && outcome.kind !== 'crashed') runner.broken = 0;
  if (outcome.kind !== 'rate-limited') runner.limits = 0;
  if (runner.interrupted) return interrupted(runner, run, stored, warning);
  switch (outcome.kind) {
    case 'ok':
      return endIteration(runner, run, stored, { error: null, timedOut: false }, warning);
    case 'out-of-time':
      return endIteration(runner, run, stored, { error: null, timedOut: true }, warning);
    case 'interrupted':
    case 'refusal':
    case 'max-turns':
    case 'prompt-too-long':
    case 'hung':
    case 'other':
      return endIteration(runner, run, stored, { error: outcome.message, timedOut: false }, warning);
    case 'rate-limited': {
      waste(runner, run);
      const { message, resetsAt } = outcome;
      const error = { kind: outcome.kind, message, resetsAt };
      return feed(turn, { type: 'api-error', at: turn.context.now(), error });
    }
    case 'authentication':
    case 'billing':
    case 'invalid-request':
    case 'unguarded':
      return fail(runner, 'agent-failed', RUNNER_TEXTS.refused(outcome.kind, outcome.message));
    case 'overloaded':
    case 'crashed': {
      waste(runner, run);
      const message = run.complaint === '' ? outcome.message : `${outcome.message} It said: ${run.complaint}`;
      if (runner.broken >= MOST_RETRIES) return fail(runner, 'agent-failed', RUNNER_TEXTS.gaveUp(message));
      return retry(runner, message);
    }
    default:
      return outcome satisfies never;
  }
}

/**
 * The user has interrupted the agent: that counts as no iteration, and the loop is paused. One that had come to its end
 * by then counts, and may have ended the loop.
 */
async function interrupted(
  runner: Runner,
  run: FinishedRun,
  stored: NonNullable<Loaded['stored']>,
  warning: string | null,
): Promise<readonly Effect[]> {
  let ended: readonly Effect[] = [];
  if (run.outcome.kind === 'ok') {
    ended = await endIteration(runner, run, stored, { error: null, timedOut: false }, warning);
  } else {
    waste(runner, run);
    if (warning !== null) runner.options.tell({ type: 'notice', message: warning });
  }
  if (ended.some(({ type }) => type === 'verify' || type === 'allow')) return ended;
  const { turn } = runner;
  const paused = feed(turn, { type: 'interrupted', at: turn.context.now(), by: 'signal' });
  return [...ended.filter((effect) => !isStep(effect)), ...paused];
}

/** Waits longer each time, unless somebody has a word to say meanwhile. */
async function retry(runner: Runner, message: string): Promise<'again'> {
  const { options, leave, turn } = runner;
  const delay = backOff(options.patience.retryMs, runner.broken, Math.random());
  runner.broken += 1;
  options.tell({ type: 'notice', message: RUNNER_TEXTS.retry(message, delay, runner.broken, MOST_RETRIES) });
  const until = Date.now() + delay;
  options.tell({ type: 'waiting', why: 'retry', until: new Date(until).toISOString() });
  const { state } = turn.loaded;
  const now = new AbortController();
  runner.tryNow = () => now.abort();
  const signal = AbortSignal.any([leave.signal, now.signal]);
  await waitOut(turn.context, { until, deadline: turn.deadline, signal, state, taskPath: null });
  runner.tryNow = null;
  return 'again';
}

function fail({ turn }: Runner, type: 'task-missing' | 'agent-failed', message: string): readonly Effect[] {
  return feed(turn, { type, at: turn.context.now(), message });
}

function waste(runner: Runner, { facts }: FinishedRun): void {
  runner.wasted = sumUsage(runner.wasted, facts.result?.usage ?? null);
  runner.wastedUsd = sumCost(runner.wastedUsd, facts.result?.costUsd ?? null);
}

/** Runs the agent once, to its end, and journals what it was and what it cost. */
async function runAgent(
  runner: Runner,
  { contract }: NonNullable<Loaded['stored']>,
  prompt: string,
): Promise<FinishedRun> {
  const { options, files, turn } = runner;
  const sessionId = randomUUID();
  bind(runner, sessionId);
  const agent = options.startAgent(sessionId, {
    cwd: files.projectDir,
    env: { ...options.env, ...options.agentEnv },
    prompt,
    silenceMs: options.patience.silenceMs,
    timeMs: contract.policy.pace.iterationTimeoutMs,
    lingerMs: contract.policy.backgroundWaitMs,
    guarded: hasRules(contract.guardrails),
    onStart: runner.lease.noteAgent,
    streamed: options.live !== undefined,
    onMessage: watchAgent(options.tell, (id) => heard(runner, id)),
  });
  runner.sent.clear();
  runner.interrupted = false;
  runner.agent = agent;
  const run = await agent.done;
  runner.agent = null;
  const { facts, outcome, durationMs } = run;
  const costUsd = facts.result?.costUsd ?? null;
  if (costUsd !== null) runner.spentUsd = (runner.spentUsd ?? 0) + costUsd;
  if (facts.lostLines > 0) options.tell({ type: 'notice', message: RUNNER_TEXTS.lostLines(facts.lostLines) });
  const ended = {
    iteration: turn.loaded.state.iteration + 1,
    outcome: outcome.kind,
    message: outcome.message,
    durationMs,
    turns: facts.result === null ? 0 : facts.result.turns,
    toolCalls: facts.toolCalls,
    model: facts.model,
    costUsd,
    usage: facts.result?.usage ?? null,
  };
  options.tell({ type: 'agent-ended', ...ended });
  const at = turn.context.now();
  recordJournal(files, at, [
    { type: 'record-event', event: { type: 'agent.ended', at, loopId: runner.loopId, ...ended } },
  ]);
  return run;
}

/** The agent's session is the loop's, and our process its client: whoever steers the loop asks whether that lives. */
function bind({ turn, files, loopId }: Runner, sessionId: string): void {
  const { pid, startedAt } = identityOf(process.pid);
  withState(files, { ...LOCK_WAIT, ...(turn.lease && { lease: turn.lease }) }, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return { next: 'keep', result: undefined };
    const state = bindSession(current.state, { sessionId, clientPid: pid, clientStartedAt: startedAt });
    turn.loaded = { ...turn.loaded, state };
    return { next: state, result: undefined };
  });
}
