import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runLoop } from '../../../src/drive/runner/run-loop.ts';
import { firstBaseline } from '../../../src/drive/start/baseline.ts';
import { prepareStart } from '../../../src/drive/start/prepare-contract.ts';
import type { StartRequest } from '../../../src/drive/start/stages.ts';
import type { PlanPart } from '../../../src/drive/turn/turn.ts';
import type { Proof } from '../../../src/engine/schema/proof.ts';
import { NO_FACTS } from '../../../src/hosts/agent/agent-message.ts';
import type { StartAgent } from '../../../src/hosts/agent/agent-run.ts';
import { readState } from '../../../src/state/loop-files.ts';
import { readStartPoint, type StartPoint } from '../../../src/task/git/start-point.ts';
import { TEST_TIMEOUT_MS } from '../until.ts';
import { aProject, aStop, type Project, put } from './drive-project.ts';
import { called, startedRouter } from './router-project.ts';
import { type Ready, startNow } from './start-now.ts';

/** One turn of an agent: does its work in the project and returns its final message. */
export type AgentTurn = (project: Project) => string;

export interface Task {
  /** Path of the task file, relative to the project; default: the prompt file. */
  readonly path?: string;
  /** Files of the project before the start, the task file among them. */
  readonly files: Readonly<Record<string, string>>;
  /** Prepares the project after its files are written. */
  readonly prepare?: (project: Project) => void;
  readonly request?: Partial<StartRequest>;
  /** Makes the loop one on a task of a plan, beside others. */
  readonly part?: PlanPart;
}

export interface Became {
  readonly status: string;
  readonly verified: boolean;
  readonly proof: Proof | undefined;
  /** Number of turns that the agent had. */
  readonly turns: number;
  readonly message: string;
  /** What each prompt after the first one said. */
  readonly prompts: readonly string[];
}

/** Asserts that no claim was accepted: the loop ran to one of its limits. */
export function assertRefused({ status, verified, message }: Became): void {
  assert.match(status, /^(?:max-iterations|no-progress-exhaustion|circuit-open)$/, message);
  assert.equal(verified, false);
}

/** Plays the agent's turns in one kind of driver; the last one is repeated until the loop ends. */
export type PlayLoop = (t: TestContext, task: Task, turns: readonly AgentTurn[]) => Promise<Became>;

const MOST_TURNS = 20;
const FLAGS = { permissionMode: 'bypassPermissions' };

type DriverName = 'hook' | 'runner' | 'router';

/** Drives a started loop until it ends or pauses; `take` plays a turn and returns the agent's message. */
type Drive = (project: Project, task: Task, take: () => string, prompts: string[]) => Promise<void>;

export const DRIVES: Readonly<Record<DriverName, Drive>> = {
  hook: async (project, task, take, prompts) => {
    startNow(await readyOf(project, task, { headless: false }));
    for (let nth = 0; nth < MOST_TURNS; nth++) {
      const answer = await aStop(project, { last_assistant_message: take() }, { RALPH_ACTIVE: '1' });
      if (answer?.decision !== 'block') return;
      prompts.push(answer.reason ?? '');
    }
  },
  runner: async (project, task, take, prompts) => {
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const startAgent: StartAgent = (_, { prompt, onStart }) => {
      onStart?.(process.pid);
      prompts.push(prompt);
      const result = {
        ...{ subtype: 'success', isError: false, terminalReason: 'completed', stopReason: null, apiStatus: null },
        ...{ turns: 1, text: take(), costUsd: null, usage },
      };
      const done = { outcome: { kind: 'ok', message: '' }, facts: { ...NO_FACTS, result, toolCalls: 1, usage } };
      return {
        ...{
          pid: process.pid,
          send: () => true,
          allow: () => undefined,
          interrupt: () => undefined,
          close: () => undefined,
        },
        end: () => undefined,
        done: Promise.resolve({ ...done, durationMs: 1, complaint: '' }),
      } as ReturnType<StartAgent>;
    };
    const ready = await readyOf(project, task, { headless: true, mode: 'runner' });
    await runLoop(
      project.files,
      () => startNow(ready),
      () => ({
        startAgent,
        env: project.env,
        agentEnv: {},
        timeouts: { silenceMs: 1e9, retryMs: 1 },
        requiresProof: false,
        ...(task.part && { part: task.part }),
        tell: () => undefined,
      }),
    );
    prompts.shift();
  },
  router: async (project, task, take, prompts) => {
    startedRouter(project, await readyOf(project, task, { mode: 'router', env: { ...project.env } }));
    let answer = await called(project);
    for (let nth = 0; nth < MOST_TURNS && answer.action === 'spawn'; nth++) {
      if (nth > 0) prompts.push(answer.prompt);
      answer = await called(project, { spawn: answer.spawn, text: take() });
    }
  },
};

const plays =
  (name: DriverName): PlayLoop =>
  (t, task, turns) =>
    play(t, task, turns, DRIVES[name]);

export const EVERY_DRIVER: Readonly<Record<DriverName, PlayLoop>> = {
  hook: plays('hook'),
  runner: plays('runner'),
  router: plays('router'),
};

/** A project of its own for one test, with the files of a task. */
export function taskProject(t: TestContext, { files, prepare }: Task): Project {
  const made = aProject(t);
  const project: Project = { ...made, env: { PATH: process.env['PATH'], ...made.env } };
  for (const [path, text] of Object.entries(files)) put(join(project.directory, path), text);
  prepare?.(project);
  return project;
}

async function play(t: TestContext, task: Task, turns: readonly AgentTurn[], drive: Drive): Promise<Became> {
  const project = taskProject(t, task);
  const prompts: string[] = [];
  let taken = 0;
  const take = (): string => {
    const turn = turns[Math.min(taken, turns.length - 1)];
    taken += 1;
    // The same message twice in one process is one Stop, delivered twice.
    return `Turn ${taken}.\n\n${turn?.(project) ?? ''}`;
  };
  await drive(project, task, take, prompts);
  const [archived = ''] = readdirSync(project.files.archiveDir).slice(-1);
  const { state } = readState(join(project.files.archiveDir, archived)) as { state: { status: string } };
  assert.equal(state.status, 'ended');
  const { ended } = state as unknown as {
    ended: { as: string; verified: boolean; proof?: Proof; message: string };
  };
  const { as: status, verified, proof, message } = ended;
  return { status, verified, proof, turns: taken, message, prompts };
}

/** A start by the user whose checks have run, as every command that starts a loop does it. */
async function readyOf(
  { directory, env }: Project,
  { path, request }: Task,
  more: Partial<StartRequest>,
): Promise<Ready> {
  const whole = {
    ...{ projectDir: directory, name: null, task: path ?? null, flags: FLAGS, env, at: new Date().toISOString() },
    ...{ existing: 'refuse', launched: true, consented: true, clientVersion: '2.1.330' },
    ...request,
    ...more,
  } as StartRequest;
  const startPoint = request?.plan ? await startPointOf(directory, env) : null;
  const options = { env, signal: new AbortController().signal };
  return { ...whole, startPoint, baseline: await firstBaseline(prepareStart(whole), options) };
}

/** Returns the state of a repository at the start, which a plan's commits are judged by. */
async function startPointOf(directory: string, env: NodeJS.ProcessEnv): Promise<StartPoint | null> {
  const found = await readStartPoint(directory, { env, signal: AbortSignal.timeout(TEST_TIMEOUT_MS) });
  return typeof found === 'string' ? null : found.point;
}
