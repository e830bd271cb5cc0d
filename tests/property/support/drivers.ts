import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operate } from '../../../src/drive/control/operate.ts';
import { sessionStart } from '../../../src/drive/hook/session-start.ts';
import { stop } from '../../../src/drive/hook/stop/stop.ts';
import { runLoop } from '../../../src/drive/runner/run-loop.ts';
import type { OperatorCommand, UsageDelta } from '../../../src/engine/events.ts';
import { untilTimeUp } from '../../../src/engine/policy/loop-time.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { NO_FACTS } from '../../../src/hosts/agent/agent-message.ts';
import type { StartAgent } from '../../../src/hosts/agent/agent-run.ts';
import { readLines } from '../../../src/state/files/journal-lines.ts';
import { loopFiles, readContract, readState } from '../../../src/state/loop-files.ts';
import { aHook, type Project, put } from '../../support/drive/drive-project.ts';
import { called, startedRouter } from '../../support/drive/router-project.ts';
import { type Ready, startNow } from '../../support/drive/start-now.ts';
import { decisionsOf, iterationsIn } from '../../support/journal.ts';
import type { FarClock } from './far-clock.ts';

/** What an agent does in one turn, and what happens beside. */
export interface TurnOf {
  readonly text: string;
  readonly minutes: number;
  readonly calls: number;
  readonly denied: number;
  readonly usage: UsageDelta;
  /** Whether the checks would pass from now on. */
  readonly green: boolean;
  /** Whether it changes a file. */
  readonly changes: boolean;
  /** Why the agent could not work; null where it did. Such a turn is no iteration, and a session's hook never hears of it. */
  readonly error: string | null;
  /** Said by the user while the agent works. */
  readonly command: 'stop' | 'cancel' | 'steer' | null;
  /** What ends the wait after this turn, where there is one. */
  readonly wait: 'time' | 'wake' | 'stop' | 'change';
}

/** What a loop became: everything that was decided, and nothing of who drove it. */
export interface Became {
  readonly ended: unknown;
  readonly counted: unknown;
  readonly iterations: readonly unknown[];
  readonly events: readonly unknown[];
}

export type Driver = (task: string, turns: readonly TurnOf[], clock: FarClock) => Promise<Became>;

const TASK = join('.claude', 'ralph', 'PROMPT.md');
const MINUTE = 60_000;

/** In a session: a Stop for each turn. */
export const byHook: Driver = (task, turns, clock) =>
  inProject(task, clock, async (project, play) => {
    const { directory, env, files } = project;
    const { loopId } = startNow({ ...startOf(project), headless: false, launched: true, consented: true });
    // Not in the project: it would be a change there.
    const transcript = join(directory, '..', 'transcript.jsonl');
    writeFileSync(transcript, '');
    const own = { RALPH_ACTIVE: '1', RALPH_LOOP_ID: loopId, CLAUDE_PID: String(process.ppid) };
    const session = { source: 'startup', transcript_path: transcript };
    await sessionStart(aHook({ directory, env, files }, 'SessionStart', session, own));
    for (const [nth, turn] of turns.entries()) {
      play(turn);
      appendFileSync(transcript, `${JSON.stringify(transcriptEntry(nth, turn.usage))}\n`);
      const payload = { transcript_path: transcript, last_assistant_message: turn.text, prompt_id: 'p' };
      const options = { timeoutMs: 1e12, signal: () => new AbortController().signal };
      const answer = await stop(aHook(project, 'Stop', payload, own), options);
      if (answer === null || !('decision' in answer)) return;
    }
  });

/** In a runner: a fresh agent for each turn. */
export const byRunner: Driver = (task, turns, clock) =>
  inProject(task, clock, async (project, play) => {
    const { env, files } = project;
    let nth = 0;
    const startAgent: StartAgent = (_, { onStart, onUsage }) => {
      const turn = turns[nth++];
      assert.ok(turn, 'the loop is over before the turns are');
      onStart?.(process.pid);
      play(turn);
      const { text, usage, calls, error } = turn;
      const result = {
        ...{ subtype: 'success', isError: false, terminalReason: 'completed', stopReason: null, apiStatus: null },
        ...{ turns: 1, text, costUsd: null, usage },
      };
      const facts = { ...NO_FACTS, result, toolCalls: calls, usage };
      onUsage?.({ usage, costUsd: null, windows: NO_FACTS.windows });
      const outcome = error === null ? { kind: 'ok', message: '' } : { kind: 'crashed', message: error };
      return {
        ...{
          pid: process.pid,
          send: () => true,
          allow: () => undefined,
          interrupt: () => undefined,
          close: () => undefined,
        },
        end: () => undefined,
        done: Promise.resolve({ outcome, facts, durationMs: turn.minutes * MINUTE, complaint: '' }),
      } as ReturnType<StartAgent>;
    };
    await runLoop(
      files,
      () => startNow({ ...startOf(project), headless: true, launched: true, consented: true, mode: 'runner' }),
      () => ({
        startAgent,
        env,
        agentEnv: {},
        timeouts: { silenceMs: 1e9, retryMs: 1 },
        requiresProof: false,
        tell: () => undefined,
      }),
    );
  });

/** By a session that has subagents work: a spawn and a report for each turn. */
export const byRouter: Driver = (task, turns, clock) =>
  inProject(task, clock, async (project, play) => {
    startedRouter(project, { clientVersion: CLIENT });
    const long = { sitUntil: Date.now() + 1e12 };
    let answer = await called(project, null, long);
    for (const turn of turns) {
      if (answer.action !== 'spawn') return;
      play(turn);
      const { text, error, usage } = turn;
      answer = await called(project, { spawn: answer.spawn, text: error === null ? text : '', error, usage }, long);
    }
  });

/** The first one that tells a failed call from a denied one. */
const CLIENT = '2.1.330';

function startOf({ directory, env }: Project): Omit<Ready, 'headless' | 'launched' | 'consented'> {
  const flags = { permissionMode: 'bypassPermissions' };
  return {
    ...{ projectDir: directory, name: null, task: null, flags, env, at: new Date().toISOString() },
    ...{ existing: 'refuse', clientVersion: CLIENT },
  };
}

/** Runs a body in a project of its own while waits are ended as the turn before them says, and tells what became. */
async function inProject(
  task: string,
  clock: FarClock,
  body: (project: Project, play: (turn: TurnOf) => void) => Promise<void>,
): Promise<Became> {
  const root = mkdtempSync(join(tmpdir(), 'ralph-drivers-'));
  const directory = join(root, 'project');
  put(join(directory, TASK), task);
  const env = {
    PATH: process.env['PATH'],
    HOME: root,
    XDG_STATE_HOME: join(root, 'outside'),
    RALPH_RATE_LIMIT_WAIT: '1ms',
    CLAUDE_PROJECT_DIR: directory,
  };
  const project: Project = { directory, env, files: loopFiles(directory, null, env) };
  let last: TurnOf | null = null;
  let calls = 0;
  const timer = setInterval(() => {
    last = passWait(project, last, clock);
  }, 1);
  try {
    await body(project, (turn) => {
      last = turn;
      calls = work(project, turn, calls, clock);
    });
    return becameOf(project);
  } finally {
    clearInterval(timer);
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The agent's turn: what it calls and changes, what it takes, and what the user says meanwhile. */
function work({ directory, env, files }: Project, turn: TurnOf, before: number, clock: FarClock): number {
  const state = liveState(files.state);
  let nth = before;
  for (let call = 0; call < turn.calls; call++) {
    nth += 1;
    const entry = {
      at: new Date().toISOString(),
      loopId: state?.loopId,
      iteration: 0,
      tool: 'Bash',
      callId: `c${nth}`,
    };
    for (const phase of ['asked', call < turn.denied ? 'denied' : 'done']) {
      appendFileSync(files.events, `${JSON.stringify({ type: `tool.${phase}`, ...entry })}\n`);
    }
  }
  // Only the size tells of a change: two turns can be shorter than the file system's clock ticks, or longer.
  const green = join(directory, 'green');
  if (!turn.green) rmSync(green, { force: true });
  else if (!existsSync(green)) put(green, '');
  if (turn.changes) appendFileSync(join(directory, 'work.txt'), `${before} ${turn.text}`);
  clock.pass(turn.minutes * MINUTE);
  const commands: Record<NonNullable<TurnOf['command']>, OperatorCommand> = {
    stop: { kind: 'stop', clientAlive: true },
    cancel: { kind: 'cancel' },
    steer: { kind: 'steer', id: `said-${before}`, text: 'Mind the tests.', delivery: 'next' },
  };
  if (turn.command !== null && state !== null) {
    const command = commands[turn.command];
    operate(files, env, new Date().toISOString(), () => command);
  }
  return nth;
}

/** Ends the wait that the loop is in, once, as the turn before it says; gives the turn where there was none. */
function passWait({ directory, env, files }: Project, turn: TurnOf | null, clock: FarClock): TurnOf | null {
  const state = liveState(files.state);
  // The driver that was woken has not looked yet: what it waited for does not pass as well.
  if (state?.status !== 'waiting' || state.waiting.woken) return turn;
  const at = new Date().toISOString();
  const { budget } = readContract(files)?.contract.policy ?? assert.fail('a loop that waits has a contract');
  // A clock passes the end of max_time before that of a longer wait.
  const left = Date.parse(untilTimeUp(state, budget, at, state.waiting.until)) - Date.now();
  if (left <= 0) return turn;
  switch (turn?.wait) {
    case 'wake':
      operate(files, env, at, () => ({ kind: 'wake' }));
      return null;
    case 'stop':
      operate(files, env, at, () => ({ kind: 'stop', clientAlive: true }));
      return null;
    case 'change':
      appendFileSync(join(directory, 'watched.txt'), at);
      clock.pass(left + 1);
      return null;
    case 'time':
    case undefined:
      clock.pass(left + 1);
      return null;
    default:
      return turn;
  }
}

function liveState(path: string): LoopState | null {
  const current = readState(path);
  return current.kind === 'loop' ? current.state : null;
}

/** Of the events those that the engine decides, without when and by whose hand. */
const DECIDED = /^(iteration|completion|budget|breaker|steering|idle|loop\.(ended|stop))/;

function becameOf({ files }: Project): Became {
  const [only, ...more] = readdirSync(files.archiveDir);
  assert.ok(only !== undefined && more.length === 0, `archived: ${[only, ...more].join(', ')}`);
  const archived = liveState(join(files.archiveDir, only));
  assert.ok(archived?.status === 'ended', 'it ended');
  const { iteration, idleIterations, lastFindingsCount, breaker, usage, warnedBudgets, gateFailures, stopRequested } =
    archived;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const { at: _, ...ended } = archived.ended;
  // The times of the project's files are among what it digests.
  const { sameRefusal } = breaker;
  const signals = { ...breaker, sameRefusal: sameRefusal?.repeats };
  return {
    ended: inMinutes(ended),
    counted: {
      ...{ iteration, idleIterations, lastFindingsCount, breaker: signals, warnedBudgets, gateFailures, stopRequested },
      ...{ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens },
      steering: archived.steering.length,
      notices: archived.notices,
    },
    iterations: iterationsIn(files).map(({ loopId, startedAt, endedAt, durationMs, agent, ...record }) => record),
    events: decisionsOf(readLines(files.events).entries)
      .filter(({ type }) => DECIDED.test(String(type)))
      .map(({ at, loopId, ...event }) => inMinutes(event)),
  };
}

/** What a driver takes by itself is no part of what it decides: times are compared by the minute. */
function inMinutes(event: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(event).map(([key, value]) => {
    if (key.endsWith('Ms') && typeof value === 'number') return [key, Math.round(value / MINUTE)];
    return [key, typeof value === 'string' ? value.replace(/(?<=\d[hm]) \d+s/g, '') : value];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function transcriptEntry(nth: number, usage: UsageDelta): object {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const told = {
    ...{ input_tokens: inputTokens, output_tokens: outputTokens },
    ...{ cache_read_input_tokens: cacheReadTokens, cache_creation_input_tokens: cacheWriteTokens },
  };
  return { type: 'assistant', version: CLIENT, message: { id: `m${nth}`, usage: told } };
}
