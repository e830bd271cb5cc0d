import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hookDriver } from '../../src/drive/hook/stop/hook-driver.ts';
import { stop } from '../../src/drive/hook/stop/stop.ts';
import { isStep, newTurn, type Step } from '../../src/drive/turn/turn.ts';
import { countersOf } from '../../src/engine/counters.ts';
import type { Effect, EngineEvent } from '../../src/engine/events.ts';
import { outOfTime } from '../../src/engine/policy/iteration-time.ts';
import { timeReading } from '../../src/engine/policy/loop-time.ts';
import type { Policy } from '../../src/engine/schema/contract.ts';
import type { LoopState } from '../../src/engine/schema/state.ts';
import { transition } from '../../src/engine/transition.ts';
import type { HookAnswer } from '../../src/hosts/hook-io/stdio.ts';
import { readLines } from '../../src/state/files/journal-lines.ts';
import { loopFiles, readState } from '../../src/state/loop-files.ts';
import { ownStart } from '../../src/state/process/identity.ts';
import { anyState } from '../support/arbitraries/any-state.ts';
import { aHook, type Project, put, start } from '../support/drive/drive-project.ts';
import { decisionsOf, iterationsIn } from '../support/journal.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = Number(process.env['RALPH_STOP_RUNS'] ?? runs(150));

const CLAIM = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const text = fc.constantFrom(
  ...['Some work.', `Done.\n\n${CLAIM}`, `I do not say ${CLAIM} yet.`, 'RALPH_ITERATION_COMPLETE: 3 findings remain'],
  ...[
    'Nothing.\n\n<!-- ralph:state idle -->',
    '<!-- ralph:state blocked -->',
    `${CLAIM}\n\n<!-- ralph:state idle -->`,
    'b',
  ],
);
const settings = fc.constantFrom(
  'max_iterations: 5',
  'max_iterations: 40\nbreaker: {findings: 2, same_reply: 2, denials: 2, no_progress: 0}',
  'max_iterations: 60\nidle: {delay: 30m, max: 3h5m}',
  'max_iterations: 9\ndelay: 20m\ntimeout: 1800',
  'max_iterations: 99\nbudget: {max_tokens: 500, max_time: 1h35m}',
);

interface Case {
  readonly state: LoopState;
  readonly payload: { readonly last_assistant_message: string; readonly prompt_id: string | null };
}
const anyCase: fc.Arbitrary<Case> = fc.record({
  state: anyState,
  payload: fc.record({ last_assistant_message: text, prompt_id: fc.constantFrom(null, 'a', 'b', 'c') }),
});

/** What a Stop has to come to: each event that follows from a step, and what the engine makes of it. */
interface Expected {
  readonly state: LoopState;
  readonly effects: readonly Effect[];
  readonly notes: readonly string[];
  readonly step: Step | undefined;
  readonly waits: boolean;
  readonly verifies: boolean;
}

function expected(begun: LoopState, first: EngineEvent, policy: Policy): Expected {
  let state = begun;
  let event: EngineEvent | null = first;
  let step: Step | undefined;
  let waits = false;
  let verifies = false;
  const effects: Effect[] = [];
  while (event !== null) {
    const at: string = event.at;
    const next = transition(state, event, policy);
    state = next.state;
    effects.push(...next.effects);
    step = next.effects.find(isStep);
    event = null;
    assert.notEqual(step?.type, 'look', 'none of these loops watches files');
    if (step?.type === 'verify') {
      verifies = true;
      event = { type: 'verified', at, results: [] };
    }
    if (step?.type === 'wait') {
      const over: boolean = Date.parse(step.until) <= Date.parse(at);
      waits ||= !over;
      event = over
        ? { type: 'time-passed', at, cause: 'elapsed', seen: null }
        : { type: 'interrupted', at, by: 'signal' };
    }
  }
  const notes = effects.flatMap((effect) => (effect.type === 'notify' ? [effect.message] : []));
  return { state, effects, notes, step, waits, verifies };
}

function endOfTurn({ payload }: Case, state: LoopState, policy: Policy, at: string): EngineEvent {
  const { lastTurn, lastDecision } = state;
  const isAgain = lastTurn !== null && ownStart() < Date.parse(lastDecision?.at ?? '');
  return {
    ...{ type: 'iteration-ended', at, text: payload.last_assistant_message, promptId: payload.prompt_id },
    ...{ origin: 'loop', transcriptMark: isAgain ? lastTurn.transcriptMark : String(ownStart()) },
    ...{ toolCalls: 0, deniedCalls: 0, failedShellCalls: 0, usage: null, costUsd: null, progress: 'unknown' },
    ...{ projectMark: null, error: null, scenario: null, seen: null },
    timedOut: outOfTime(state, policy.pace.iterationTimeoutMs, at),
  };
}

/** A state that is this session's, under its contract, and waits no longer. */
function asOurs(state: LoopState, begun: LoopState, at: string): LoopState {
  const { loopId, name, mode, taskPath, contractHash, maxIterations, startedAt, clientPid, clientStartedAt } = begun;
  const own = { loopId, name, mode, taskPath, contractHash, maxIterations, startedAt, clientPid, clientStartedAt };
  const ours = { ...state, ...own, sessionId: 'session-1', marks: begun.marks };
  if (ours.status !== 'waiting') return ours;
  return { ...ours, waiting: { ...ours.waiting, since: at, until: new Date(Date.parse(at) - 1_000).toISOString() } };
}

/** Decides one Stop over a state; a wait that this Stop begins ends because the client cancels the hook. */
async function decided(project: Project, { payload }: Case, at: string): Promise<HookAnswer | null> {
  const cancelled = new AbortController();
  const timer = setInterval(() => {
    const current = readState(project.files.state);
    if (current.kind === 'loop' && current.state.status === 'waiting' && current.state.waiting.until > at) {
      cancelled.abort();
    }
  }, 1);
  try {
    const context = { ...aHook(project, 'Stop', payload), now: () => at };
    return await stop(context, { timeoutMs: 1e12, signal: () => cancelled.signal });
  } finally {
    clearInterval(timer);
  }
}

/** How far files were read, and when this process was started, are no decision. */
function withoutMarks({ marks: _, lastTurn, ...state }: LoopState): unknown {
  const turn = lastTurn === null ? null : { promptId: lastTurn.promptId, text: lastTurn.text };
  return JSON.parse(JSON.stringify({ ...state, lastTurn: turn }));
}

function stateAfter({ files }: Project): LoopState | null {
  const [archived] = existsSync(files.archiveDir) ? readdirSync(files.archiveDir) : [];
  const current = readState(archived === undefined ? files.state : join(files.archiveDir, archived));
  return current.kind === 'loop' ? current.state : null;
}

async function check(task: string, one: Case, engine: typeof expected): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'ralph-stop-'));
  const directory = join(root, 'project');
  try {
    const env = { HOME: root, XDG_STATE_HOME: join(root, 'outside'), CLAUDE_PROJECT_DIR: directory };
    const project: Project = { directory, env, files: loopFiles(directory, null, env) };
    const path = join(directory, '.claude', 'ralph', 'PROMPT.md');
    put(path, `---\n${task}\n---\n\nDo the work.\n`);
    utimesSync(path, 1, 1);
    const begun = start(project, true);
    const { policy } = begun.stored.contract;
    const at = new Date().toISOString();
    const state = asOurs(one.state, begun.state, at);
    if (state.status === 'ended' && state.ended.as === 'complete') return; // restored, since nothing proves it
    put(project.files.state, JSON.stringify(state));
    put(project.files.counters, JSON.stringify(countersOf(state)));
    rmSync(project.files.events, { force: true });
    const want = engine(state, endOfTurn(one, state, policy, at), policy);
    // Whether the time that is up ends the verification depends on how long that takes.
    if (want.verifies && timeReading(state, policy.budget, at) !== null) return;
    const answer = await decided(project, one, at);
    assert.deepEqual(withoutMarks(stateAfter(project) ?? state), withoutMarks(want.state), 'the state');
    // What the client reports of an iteration is no decision.
    const decisions = decisionsOf(readLines(project.files.events).entries);
    const written = [...iterationsIn(project.files), ...decisions].map(({ agent: _, v: __, ...entry }) => entry);
    const records = want.effects.flatMap((effect) => (effect.type === 'record-iteration' ? [effect.record] : []));
    const events = want.effects.flatMap((effect) => (effect.type === 'record-event' ? [effect.event] : []));
    assert.deepEqual(written, JSON.parse(JSON.stringify([...records, ...events])), 'the journals');
    if (want.step?.type === 'prompt') {
      assert.equal(answer?.decision, 'block');
      return;
    }
    const loaded = { state: want.state, policy, stored: null, restored: null, lost: null };
    const signal = want.waits ? AbortSignal.abort() : new AbortController().signal;
    const turn = newTurn({ files: project.files, env, now: () => at }, loaded, { signal: () => signal });
    const step = want.step?.type === 'allow' || want.step?.type === 'ignore' ? want.step : undefined;
    assert.deepEqual({ answer }, await hookDriver([...want.notes]).release(turn, step));
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

test('Every path of a Stop decides as the engine does for the same event.', async () => {
  await fc.assert(
    fc.asyncProperty(settings, anyCase, (task, one) => check(task, one, expected)),
    { numRuns: RUNS, includeErrorInReport: true },
  );
});

test('Control: detects an engine that ignores claims of completion.', async () => {
  const deaf: typeof expected = (state, event, policy) =>
    expected(state, event, { ...policy, completion: { kind: 'none' } });
  await assert.rejects(
    fc.assert(
      fc.asyncProperty(settings, anyCase, (task, one) => check(task, one, deaf)),
      { numRuns: 300, endOnFailure: true },
    ),
  );
});
