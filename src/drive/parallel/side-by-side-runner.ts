import type { OperatorCommand } from '../../engine/events.ts';
import { reasonLines } from '../../engine/messages.ts';
import { spentOf } from '../../engine/policy/budget.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { Batch } from '../../engine/schema/batch.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { onSignals } from '../../state/process/signals.ts';
import { lookAtClock, watchSleep } from '../../state/process/sleep-watch.ts';
import { BEAT_MS } from '../../state/task-folder/run-files.ts';
import { statusWords } from '../../text/status-words.ts';
import { notifyOfRun } from '../records/notification.ts';
import type { Permit } from '../runner/runner.ts';
import { lastLoopIn, markOfSettings } from '../start/find-task.ts';
import { worktreeLoop } from '../worktree/worktree-place.ts';
import { archiveBatch, runOfBatch, touchBatch, writeBatch } from './batch.ts';
import { LoopProcess, type LoopProcessOptions, operateLoop, SharedBudget } from './loop-process.ts';
import { PARALLEL_TEXTS } from './messages.ts';

export interface BatchRun {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly batch: Batch;
  /** Program and options of node, to which the words of a command are appended. */
  readonly program: readonly string[];
  readonly tell: (name: string, event: RunnerEvent) => void;
  readonly notice: (text: string) => void;
}

export interface BatchEnd {
  /** Record of the run at its end. */
  readonly batch: Batch;
  readonly code: number;
}

interface LoopToStart extends Omit<LoopProcessOptions, 'projectDir' | 'env' | 'program' | 'budget' | 'settings'> {
  readonly taskPath: string;
}

/** Runs loops side by side, each in its own worktree and process. Answers the user's terminal and the shared budget. */
export abstract class SideBySideRunner {
  protected readonly options: BatchRun;
  protected readonly budget: SharedBudget;
  protected pressed = 0;
  /** No further loop may begin. */
  protected closed = false;
  protected refused: string | null = null;

  /** Marks of the settings of the task files before the first agent, by path. */
  readonly #settings: ReadonlyMap<string, string>;

  constructor(options: BatchRun) {
    this.options = options;
    const { projectDir, env, batch } = options;
    const paths = batch.plan === undefined ? batch.tasks.map(({ taskPath }) => taskPath) : [batch.plan.path];
    this.#settings = new Map(paths.map((path) => [path, markOfSettings(projectDir, path) ?? NO_FILE]));
    this.budget = new SharedBudget(batch);
    for (const { name, step } of batch.tasks) {
      // A run that was killed has recorded no figures of the loops at work.
      const state = step === 'started' ? lastLoopIn(worktreeLoop(projectDir, name, env)) : null;
      if (state !== null && state.startedAt >= batch.startedAt) this.budget.note(name, spentOf(state.usage));
    }
  }

  /** Runs the loops until all have ended or the user stops them. The record remains while anything can be resumed. */
  async run(): Promise<BatchEnd> {
    const { projectDir, env } = this.options;
    const quiet = onSignals({ press: () => this.press(), leave: () => this.leave() });
    const endWatch = watchSleep((since) => {
      this.budget.stoppedMs += Date.now() - Date.parse(since);
    });
    const alive = setInterval(() => touchBatch(projectDir, env), BEAT_MS).unref();
    try {
      await this.work();
    } finally {
      clearInterval(alive);
      endWatch();
      quiet();
    }
    return this.end();
  }

  /** Handles Ctrl+C. First: the loops end after their iterations, and no further one begins. Again: they are cancelled. */
  press(): void {
    this.pressed += 1;
    this.closed = true;
    this.options.notice(this.pressed === 1 ? PARALLEL_TEXTS.finishing : PARALLEL_TEXTS.cancelling);
    this.stopLoops(this.pressed === 1 ? 'stop' : 'cancel');
  }

  /** Sends a command to one of the loops. Throws RalphError if that is not possible. */
  operate(name: string, command: (state: LoopState) => OperatorCommand): void {
    operateLoop({ ...this.options, name }, command);
  }

  protected start({ taskPath, ...loop }: LoopToStart): LoopProcess {
    const { projectDir, env, program } = this.options;
    const settings = this.#settings.get(taskPath) ?? NO_FILE;
    return new LoopProcess({ ...loop, settings, projectDir, env, program, budget: this.budget });
  }

  protected leave(): void {
    this.closed = true;
    for (const process of this.processes()) process.signal('SIGTERM');
  }

  protected write(record: Batch): void {
    writeBatch(this.options.projectDir, this.options.env, { ...record, stoppedMs: this.budget.stoppedMs });
  }

  /** Records how the run ended, and returns the record. One that is over goes to the archive. */
  protected close(record: Batch, ended: Omit<NonNullable<Batch['ended']>, 'at'>, isOver: boolean): Batch {
    const { projectDir, env } = this.options;
    const text = this.refused === null ? ended.text : `${PARALLEL_TEXTS.budgetUsed(this.refused)} ${ended.text}`;
    const closed: Batch = {
      ...record,
      stoppedMs: this.budget.stoppedMs,
      ended: { ...ended, text, at: new Date().toISOString() },
    };
    if (isOver) archiveBatch(projectDir, env, closed);
    else writeBatch(projectDir, env, closed);
    this.#notify(closed);
    return closed;
  }

  #notify(batch: Batch): void {
    const { projectDir, env } = this.options;
    const at = new Date().toISOString();
    const run = runOfBatch(batch, { projectDir, env, at });
    const { title, status, why, tasks, done, total, plan } = run;
    const open = tasks.filter((task) => !task.done);
    const reasons = open.flatMap(({ id, status, why }) => {
      const [head, ...output] = why === null ? [] : reasonLines(why, { most: 3, indent: '' });
      return [`${id}: ${statusWords(status)}${head === undefined ? '' : `, ${head}`}`, ...output];
    });
    const loops = tasks.flatMap(({ loop }) =>
      loop?.name == null || loop.loopId === null
        ? []
        : [{ files: worktreeLoop(projectDir, loop.name, env), loopId: loop.loopId }],
    );
    notifyOfRun(loopFiles(projectDir, null, env), at, loops, {
      title: `${title}: ${statusWords(status)}, ${done} of ${total} tasks done`,
      message: [why, ...reasons].join('\n'),
      status,
      loop: plan ?? title,
      tasks: { done, total },
    });
  }

  /** Answers whether another agent run may start. */
  protected permit(): Permit {
    lookAtClock();
    const permit = this.budget.permit(Date.now());
    if (permit.kind === 'budget') this.refused = permit.reading;
    return permit;
  }

  protected abstract work(): Promise<void>;
  protected abstract end(): BatchEnd;
  protected abstract processes(): readonly LoopProcess[];
  protected abstract stopLoops(how: 'stop' | 'cancel'): void;
}

/** Mark of a task file that was not there: no file has these settings. */
const NO_FILE = 'absent';
