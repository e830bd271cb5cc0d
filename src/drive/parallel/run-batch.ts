import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { OperatorCommand } from '../../engine/events.ts';
import { exitCode } from '../../engine/exit-code.ts';
import { billedTokens } from '../../engine/policy/budget.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { onSignals } from '../../state/process/signals.ts';
import { elapsed } from '../../text/time.ts';
import { describeLoop, endedLoopOf } from '../status/loop-report.ts';
import { headOf } from '../worktree/repository.ts';
import { worktreePlace } from '../worktree/worktree-place.ts';
import { type Batch, type BatchTask, dropBatch, NEW_END, writeBatch } from './batch.ts';
import { integrate } from './integrate.ts';
import { type LoopEnd, LoopProcess, operateLoop } from './loop-process.ts';
import { PARALLEL_TEXTS } from './messages.ts';
import { SharedBudget } from './shared-budget.ts';

export interface BatchRun {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly batch: Batch;
  /** Program and options of node, to which the words of a command are appended. */
  readonly program: readonly string[];
  readonly tell: (name: string, event: RunnerEvent) => void;
  readonly notice: (text: string) => void;
  /** Called once a loop is over, before its worktree may be removed. */
  readonly over?: (name: string) => Promise<void>;
}

export interface BatchEnd {
  readonly tasks: readonly BatchTask[];
  /** Message about the shared budget if it is used up. */
  readonly refused: string | null;
}

/** Interface between the user's terminal and loops that run side by side. */
export interface SideBySideRunner {
  /** Runs the loops until all have ended or the user stops them. The record remains while anything can be resumed. */
  readonly run: () => Promise<BatchEnd>;
  /** Handles Ctrl+C. First: the loops end after their iterations, and no further one begins. Again: they are cancelled. */
  readonly press: () => void;
  /** Sends a command to one of the loops. Throws RalphError if that is not possible. */
  readonly operate: (name: string, command: (state: LoopState) => OperatorCommand) => void;
}

/** Exit code of a complete loop whose work was not integrated and is left to the user. */
const NOT_INTEGRATED = 3;

/** Runs tasks side by side, each in its own worktree and process, until all have ended or the user stops them. */
export class BatchRunner implements SideBySideRunner {
  readonly #options: BatchRun;
  readonly #active = new Map<string, LoopProcess>();
  readonly #budget: SharedBudget;
  #tasks: readonly BatchTask[];
  #pressed = 0;
  #leaving = false;
  #refused: string | null = null;

  constructor(options: BatchRun) {
    const { batch } = options;
    this.#options = options;
    this.#tasks = batch.tasks;
    this.#budget = new SharedBudget(batch);
  }

  async run(): Promise<BatchEnd> {
    const quiet = onSignals({ press: () => this.press(), leave: () => this.#leave() });
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

  press(): void {
    this.#pressed += 1;
    const { notice } = this.#options;
    notice(this.#pressed === 1 ? PARALLEL_TEXTS.finishing : PARALLEL_TEXTS.cancelling);
    for (const process of this.#active.values()) process.stop(this.#pressed === 1 ? 'stop' : 'cancel');
  }

  operate(name: string, command: (state: LoopState) => OperatorCommand): void {
    operateLoop({ ...this.#options, name }, command);
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
    const process = new LoopProcess({
      ...{ projectDir, env, name, program, words, budget: this.#budget, over: this.#options.over },
      tell: (event) => tell(name, event),
      onPermit: () => {
        const permit = this.#budget.permit(Date.now());
        if (permit.kind === 'budget') this.#refused = permit.reading;
        return permit;
      },
    });
    this.#active.set(name, process);
    const end = await process.over;
    this.#active.delete(name);
    this.#saveEnd(name, end);
  }

  /** Returns the words of the command that begins or resumes the task; null if its loop has ended already. */
  #wordsFor(task: BatchTask): readonly string[] | null {
    const { batch, projectDir, env } = this.#options;
    const { name, taskPath } = task;
    const rest = batch.rest.length === 0 ? [] : ['--', ...batch.rest];
    const common = ['--loop', name, '--worktree', '--json', ...batch.words, ...task.words, ...rest];
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
    // The process that watched it was killed after its loop had ended.
    const { status, iteration, message, costUsd, startedAt, endedAt, verified } = endedLoopOf(lastState, name);
    const tokens = billedTokens(lastState.usage);
    const lacksProof = batch.words.includes('--require-verified') && !verified;
    const code = exitCode(lastState.status === 'ended' ? lastState.ended.as : 'interrupted', lacksProof);
    const durationMs = elapsed(startedAt, endedAt);
    this.#save({
      ...task,
      step: 'ended',
      end: { status, code, iterations: iteration, costUsd, tokens, message, ...NEW_END, durationMs },
    });
    return null;
  }

  #saveEnd(name: string, { end, died }: LoopEnd): void {
    const task = this.#tasks.find((one) => one.name === name);
    if (task === undefined) return;
    if (died) {
      this.#save({ ...task, end });
      return;
    }
    const { status } = end;
    const resumable = status === 'paused' || status === 'interrupted' || this.#endedByBudget(status);
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
      const end = { ...task.end, code: outcome === 'done' ? 0 : NOT_INTEGRATED };
      const commit = headOf(projectDir, env);
      this.#save({
        ...task,
        end: outcome === 'done' ? { ...end, integrated: message, problem: null, commit } : { ...end, problem: message },
      });
      if (outcome === 'blocked') return;
    }
  }

  #save(task: BatchTask): void {
    const { batch, projectDir, env } = this.#options;
    this.#tasks = this.#tasks.map((one) => (one.name === task.name ? task : one));
    writeBatch(projectDir, env, { ...batch, tasks: [...this.#tasks] });
  }

  #leave(): void {
    this.#leaving = true;
    for (const process of this.#active.values()) process.signal('SIGTERM');
  }
}

/** Returns the exit code of a run: the first of 130, 1, 2, 3 that any loop left; 0 only if all are complete. */
export function batchCode(tasks: readonly BatchTask[], refused: string | null): number {
  const codes = tasks.map(({ end }) => end?.code ?? (refused === null ? 3 : 2));
  return [130, 1, 2, 3].find((code) => codes.includes(code)) ?? 0;
}
