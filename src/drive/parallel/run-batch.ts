import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { OperatorCommand, UsageDelta } from '../../engine/events.ts';
import { exitCode } from '../../engine/exit-code.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { operate } from '../control/operate.ts';
import { describeLoop, endedLoopOf } from '../status/loop-report.ts';
import { clientAlive } from '../turn/ownership.ts';
import { worktreePlace } from '../worktree/worktree-place.ts';
import { type Batch, type BatchTask, dropBatch, writeBatch } from './batch.ts';
import { integrate } from './integrate.ts';
import { PARALLEL_TEXTS } from './messages.ts';
import { SharedBudget } from './shared-budget.ts';
import { type Supervised, type SupervisedEnd, supervise } from './supervise.ts';

export interface BatchRun {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly batch: Batch;
  /** The program and node's options: what stands before the words of a command. */
  readonly program: readonly string[];
  readonly tell: (name: string, event: RunnerEvent) => void;
  readonly notice: (text: string) => void;
}

type Ended = Extract<RunnerEvent, { type: 'loop-ended' }>;
type End = NonNullable<BatchTask['end']>;

/** Exit code of a complete loop whose work could not be integrated: the user has to. */
const NOT_INTEGRATED = 3;

/** A loop that runs now. */
interface Active {
  readonly run: Supervised;
  ended: Ended | null;
}

/** Runs tasks side by side, each in a worktree and a process of its own, until all have ended or the user stops them. */
export class BatchRunner {
  readonly #options: BatchRun;
  readonly #active = new Map<string, Active>();
  readonly #budget: SharedBudget;
  #tasks: readonly BatchTask[];
  #pressed = 0;
  #leaving = false;
  #refused: string | null = null;

  constructor(options: BatchRun) {
    const { batch } = options;
    this.#options = options;
    this.#tasks = batch.tasks;
    this.#budget = new SharedBudget(batch.limits, Date.parse(batch.startedAt));
    for (const { name, end } of batch.tasks) {
      if (end !== null) this.#budget.note(name, { costUsd: end.costUsd, tokens: end.tokens });
    }
  }

  /** Returns the tasks as they stand at the end. The record of the run stays while any of them can be resumed. */
  async run(): Promise<{ readonly tasks: readonly BatchTask[]; readonly refused: string | null }> {
    const quiet = this.#handleSignals();
    try {
      const lanes = Array.from({ length: this.#options.batch.atOnce }, () => this.#lane());
      await Promise.all(lanes);
      this.#integrate();
    } finally {
      quiet();
    }
    const { projectDir, env } = this.#options;
    if (this.#tasks.every(({ step }) => step === 'ended')) dropBatch(projectDir, env);
    return { tasks: this.#tasks, refused: this.#refused };
  }

  /** First: the loops end after their iterations, and no other begins. Again: they are cancelled. */
  press(): void {
    this.#pressed += 1;
    const { notice } = this.#options;
    notice(this.#pressed === 1 ? PARALLEL_TEXTS.finishing : PARALLEL_TEXTS.cancelling);
    for (const name of this.#active.keys()) this.#stop(name);
  }

  /** Gives a command to one of the loops. Throws RalphError if it is not possible. */
  operate(name: string, command: (state: LoopState) => OperatorCommand): void {
    const { projectDir, env } = this.#options;
    const files = loopFiles(worktreePlace(projectDir, name).projectDir, name, env);
    operate(files, env, new Date().toISOString(), command);
  }

  async #lane(): Promise<void> {
    for (let task = this.#next(); task !== undefined; task = this.#next()) await this.#work(task);
  }

  #next(): BatchTask | undefined {
    if (this.#pressed > 0 || this.#leaving) return undefined;
    const permit = this.#budget.permit(Date.now());
    if (permit.kind === 'budget') {
      this.#refused = permit.reading;
      return undefined;
    }
    return this.#tasks.find(({ step, name }) => step !== 'ended' && !this.#active.has(name) && !this.#tried.has(name));
  }

  readonly #tried = new Set<string>();

  async #work(task: BatchTask): Promise<void> {
    const { name } = task;
    this.#tried.add(name);
    const words = this.#wordsFor(task);
    if (words === null) return;
    this.#save({ ...task, step: 'started' });
    const { projectDir, env, program, tell } = this.#options;
    const run = supervise({
      directory: projectDir,
      env,
      words: [...program, ...words],
      onEvent: (event) => {
        this.#note(name, event);
        tell(name, event);
      },
      onPermit: (spent) => {
        this.#budget.note(name, spent);
        const permit = this.#budget.permit(Date.now());
        if (permit.kind === 'budget') this.#refused = permit.reading;
        return permit;
      },
    });
    this.#active.set(name, { run, ended: null });
    const end = await run.done;
    const { ended = null } = this.#active.get(name) ?? {};
    this.#active.delete(name);
    this.#saveEnd(name, ended, end);
  }

  /** Returns the words of the command that begins or resumes the task; null if its loop has ended already. */
  #wordsFor(task: BatchTask): readonly string[] | null {
    const { batch, projectDir, env } = this.#options;
    const { name, taskPath } = task;
    const rest = batch.rest.length === 0 ? [] : ['--', ...batch.rest];
    const common = ['--loop', name, '--worktree', '--json', ...batch.words, ...rest];
    const begin = ['run', '--task', join(projectDir, taskPath), ...(batch.fresh ? ['--fresh'] : []), ...common];
    const place = worktreePlace(projectDir, name);
    if (task.step === 'waiting' || !existsSync(place.dir)) return begin;
    const { live, lost, lastState } = describeLoop(loopFiles(place.projectDir, name, env), env);
    if (live !== null || lost !== null) return ['run', '--resume', ...common];
    if (lastState === null || lastState.startedAt < batch.startedAt)
      return [...begin.slice(0, 3), '--fresh', ...common];
    if (
      task.end?.status === 'budget-exhausted' &&
      lastState.status === 'ended' &&
      lastState.ended.as === task.end.status
    ) {
      return ['run', '--resume', ...common];
    }
    // The process that watched it was killed after the end of its loop.
    const { status, iteration, message, costUsd } = endedLoopOf(lastState, name);
    const tokens = billedTokens(lastState.usage);
    const code = exitCode(lastState.status === 'ended' ? lastState.ended.as : 'interrupted');
    this.#save({
      ...task,
      step: 'ended',
      end: { status, code, iterations: iteration, costUsd, tokens, message, integrated: null },
    });
    return null;
  }

  #note(name: string, event: RunnerEvent): void {
    const active = this.#active.get(name);
    switch (event.type) {
      case 'loop-started':
        // A loop that began while the user stopped them all.
        if (this.#pressed > 0) this.#stop(name);
        return;
      case 'agent-ended':
        this.#add(name, event);
        return;
      case 'waiting':
        if (event.why === 'rate-limit') this.#budget.hold(Date.parse(event.until));
        return;
      case 'loop-ended':
        if (active !== undefined) active.ended = event;
        return;
      default:
        return;
    }
  }

  /** Counts a run at its end: the loop itself reports its figures only before the next one. */
  #add(name: string, { usage, costUsd }: Extract<RunnerEvent, { type: 'agent-ended' }>): void {
    if (usage === null) return;
    const before = this.#budget.of(name) ?? { costUsd: 0, tokens: 0 };
    const cost = before.costUsd === null || costUsd === null ? null : before.costUsd + costUsd;
    this.#budget.note(name, { costUsd: cost, tokens: before.tokens + billedTokens(usage) });
  }

  #stop(name: string): void {
    const active = this.#active.get(name);
    try {
      if (this.#pressed === 1) this.operate(name, (state) => ({ kind: 'stop', clientAlive: clientAlive(state) }));
      else this.operate(name, () => ({ kind: 'cancel' }));
    } catch (error) {
      if (!(error instanceof RalphError)) throw error;
      // It has no loop yet, or none any more.
      if (this.#pressed > 1) active?.run.signal('SIGTERM');
    }
  }

  #saveEnd(name: string, ended: Ended | null, { code, signal, complaint }: SupervisedEnd): void {
    const task = this.#tasks.find((one) => one.name === name);
    if (task === undefined) return;
    const tokens = this.#budget.of(name)?.tokens ?? 0;
    if (ended === null) {
      const how = signal ?? `exit code ${code}`;
      const message = signal === null && complaint !== '' ? complaint : PARALLEL_TEXTS.died(how);
      const died: End = {
        status: 'error',
        code: code || 1,
        iterations: null,
        costUsd: null,
        tokens,
        message,
        integrated: null,
      };
      this.#save({ ...task, end: { ...died, costUsd: this.#budget.of(name)?.costUsd ?? null } });
      return;
    }
    const { status, iterations, costUsd, message } = ended;
    this.#budget.note(name, { costUsd, tokens });
    const resumable = status === 'paused' || status === 'interrupted' || this.#endedByBudget(status);
    const end: End = { status, code: ended.code, iterations, costUsd, tokens, message, integrated: null };
    this.#save({ ...task, step: resumable ? 'started' : 'ended', end });
  }

  #endedByBudget(status: string): boolean {
    return status === 'budget-exhausted' && this.#refused !== null;
  }

  #integrate(): void {
    const { batch, projectDir, env, notice } = this.#options;
    if (batch.integrate === 'none' || this.#pressed > 0 || this.#leaving) return;
    for (const task of this.#tasks) {
      if (task.end?.status !== 'complete' || task.end.integrated !== null) continue;
      const { message, outcome } = integrate({
        ...{ projectDir, name: task.name, how: batch.integrate, report: task.end.message, env },
      });
      notice(message);
      const integrated = outcome === 'done' ? message : null;
      this.#save({ ...task, end: { ...task.end, integrated, code: outcome === 'done' ? 0 : NOT_INTEGRATED } });
      if (outcome === 'blocked') return;
    }
  }

  #save(task: BatchTask): void {
    const { batch, projectDir, env } = this.#options;
    this.#tasks = this.#tasks.map((one) => (one.name === task.name ? task : one));
    writeBatch(projectDir, env, { ...batch, tasks: [...this.#tasks] });
  }

  #handleSignals(): () => void {
    const leave = (): void => {
      this.#leaving = true;
      for (const { run } of this.#active.values()) run.signal('SIGTERM');
    };
    const handlers = { SIGINT: () => this.press(), SIGTERM: leave, SIGHUP: leave };
    for (const [name, handler] of Object.entries(handlers)) process.on(name, handler);
    return () => {
      for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
    };
  }
}

/** Returns the exit code of a run: the first of 130, 1, 2, 3 that any loop left; 0 only if all are complete. */
export function batchCode(tasks: readonly BatchTask[], refused: string | null): number {
  const codes = tasks.map(({ end }) => end?.code ?? (refused === null ? 3 : 2));
  return [130, 1, 2, 3].find((code) => codes.includes(code)) ?? 0;
}

/** Returns the tokens that `max_tokens` counts. */
function billedTokens({ inputTokens, outputTokens, cacheWriteTokens }: UsageDelta): number {
  return inputTokens + outputTokens + cacheWriteTokens;
}
