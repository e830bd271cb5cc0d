import type { OperatorCommand } from '../../engine/events.ts';
import { moreOf, reasonLines } from '../../engine/messages.ts';
import { allowanceOf, billedTokens, readLimits, type Spent, spentOf } from '../../engine/policy/budget.ts';
import type { RunnerEvent, RunnerEventOf } from '../../engine/runner-event.ts';
import type { Batch, BatchTask } from '../../engine/schema/batch.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { onSignals } from '../../state/process/signals.ts';
import { lookAtClock, watchSleep } from '../../state/process/sleep-watch.ts';
import { BEAT_MS } from '../../state/task-folder/run-files.ts';
import { RalphError } from '../../text/message.ts';
import { statusWords } from '../../text/status-words.ts';
import { operate, stopCommand } from '../control/operate.ts';
import { restoreMidTurn } from '../control/restore-protected.ts';
import { notifyOfRun } from '../records/notification.ts';
import type { OverBudget, Permit } from '../runner/runner.ts';
import { lastLoopIn, markOfSettings } from '../start/find-task.ts';
import { worktreeLoop } from '../worktree/worktree-place.ts';
import { archiveBatch, NEW_END, runOfBatch, touchBatch, writeBatch } from './batch.ts';
import { PARALLEL_TEXTS } from './messages.ts';
import { type Supervised, type SupervisedEnd, type SupervisedRun, supervise } from './supervise.ts';

interface LoopProcessOptions {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly name: string;
  /** Program and options of node, to which the words of a command are appended. */
  readonly program: readonly string[];
  readonly words: readonly string[];
  readonly budget: SharedBudget;
  readonly tell: (event: RunnerEvent) => void;
  readonly onPermit: () => Permit | Promise<Permit>;
  readonly settings: SupervisedRun['settings'];
  readonly plan?: NonNullable<SupervisedRun['plan']>;
}

export interface LoopEnd {
  readonly end: NonNullable<BatchTask['end']>;
  /** The process exited before its loop ended; the loop can be resumed. */
  readonly died: boolean;
  /** Null: it ended before it had a loop. */
  readonly loopId: string | null;
}

type Ended = RunnerEventOf<'run.ended'>;

/** Loop in a worktree and a process of its own; its usage counts towards the shared budget. */
export class LoopProcess {
  readonly over: Promise<LoopEnd>;
  readonly #options: LoopProcessOptions;
  readonly #run: Supervised;
  #ended: Ended | null = null;
  #loopId: string | null = null;
  /** The runner waits for the rate limit that all loops share. */
  #isHeld = false;
  /** How the user ended it, or null; a loop that begins afterwards is ended as well. */
  #stopped: 'stop' | 'cancel' | null = null;

  constructor(options: LoopProcessOptions) {
    const { projectDir, env, name, program, words, budget, tell, onPermit, settings, plan } = options;
    this.#options = options;
    this.#run = supervise({
      directory: projectDir,
      env,
      words: [...program, ...words],
      onEvent: (event) => {
        this.#note(event);
        tell(event);
      },
      onPermit: async (spent) => {
        budget.note(name, spent);
        const permit = await onPermit();
        this.#isHeld = permit.kind === 'hold';
        return permit;
      },
      settings,
      ...(plan && { plan }),
    });
    this.over = this.#run.done.then((end) => this.#endOf(end));
  }

  signal(name: 'SIGINT' | 'SIGTERM'): void {
    this.#run.signal(name);
  }

  /** Sends the loop a command. Throws RalphError if that is not possible. */
  operate(command: (state: LoopState) => OperatorCommand): void {
    operateLoop(this.#options, command);
  }

  /** Ends the loop after its iteration, or cancels it. A loop that has not begun is cancelled by a signal. */
  stop(how: 'stop' | 'cancel'): void {
    this.#stopped = how;
    try {
      this.operate(how === 'stop' ? stopCommand : () => ({ kind: 'cancel' }));
    } catch (error) {
      if (!(error instanceof RalphError)) throw error;
      // The loop does not exist yet or no longer, or its state cannot be written now; its own process then retries.
      if (how === 'cancel') this.signal('SIGTERM');
      else if (error.code !== 'no-loop') this.signal('SIGINT');
    }
  }

  #note(event: RunnerEvent): void {
    switch (event.type) {
      case 'run.started':
        this.#loopId = event.loopId;
        if (this.#stopped !== null) this.stop(this.#stopped);
        return;
      case 'agent.ended':
        this.#add(event);
        // This may have been the last run of its loop, which then does not wait itself.
        if (event.heldUntil !== undefined) this.#options.budget.hold(Date.parse(event.heldUntil));
        return;
      case 'wait.started':
        // A held loop waits slightly longer than the others. Counting that wait would make them hold each other forever.
        if (event.why === 'rate-limit' && !this.#isHeld) this.#options.budget.hold(Date.parse(event.until));
        return;
      case 'run.ended':
        this.#ended = event;
        return;
      default:
        return;
    }
  }

  /** Counts a run when it ends: the loop reports its own figures only before the next run. */
  #add({ usage, costUsd }: RunnerEventOf<'agent.ended'>): void {
    if (usage === null) return;
    const { budget, name } = this.#options;
    const before = budget.of(name) ?? { costUsd: 0, tokens: 0 };
    const cost = before.costUsd === null || costUsd === null ? null : before.costUsd + costUsd;
    budget.note(name, { costUsd: cost, tokens: before.tokens + billedTokens(usage) });
  }

  #endOf({ code, signal, failure, complaint }: SupervisedEnd): LoopEnd {
    const { budget, name } = this.#options;
    const { tokens = 0, costUsd: known = null } = budget.of(name) ?? {};
    if (this.#ended !== null) {
      const { status, code: left, iterations, costUsd, message, report } = this.#ended;
      budget.note(name, { costUsd, tokens });
      const end = { status, code: left, iterations, costUsd, tokens, message, ...NEW_END };
      const { proof = null, changes = null, durationMs = null } = report ?? {};
      // The last line of the statistics sums up the others.
      const files = changes && Math.max(0, changes.stat.length - 1) + changes.newFiles.length;
      const proved = proof && { proof, files };
      return { end: { ...end, durationMs, proved }, died: false, loopId: this.#loopId };
    }
    const how = signal ?? `exit code ${code}`;
    const why = signal === null && complaint !== '' ? complaint : PARALLEL_TEXTS.died(how);
    const message = failure === null ? why : show(failure, { name, mode: 'runner' });
    const end = { status: 'error', code: code || 1, iterations: null, costUsd: known, tokens, message };
    return { end: { ...end, ...NEW_END }, died: true, loopId: this.#loopId };
  }
}

/** Sends a command to the loop in a worktree. Throws RalphError if that is not possible. */
function operateLoop(
  { projectDir, env, name }: Pick<LoopProcessOptions, 'projectDir' | 'env' | 'name'>,
  command: (state: LoopState) => OperatorCommand,
): void {
  operate(worktreeLoop(projectDir, name, env), env, new Date().toISOString(), command, { restore: restoreMidTurn });
}

/** Counts what concurrent loops have used, and holds all of them at a rate limit of their account. */
export class SharedBudget {
  readonly #spent = new Map<string, Spent>();
  #heldUntil = 0;
  readonly #limits: Batch['limits'];
  /** Epoch milliseconds. */
  readonly #startedAt: number;
  /** Milliseconds since the start that do not count towards the time limit. */
  stoppedMs: number;

  /** Adds up the usage of the tasks that have ended. */
  constructor({ limits, startedAt, stoppedMs, tasks }: Pick<Batch, 'limits' | 'startedAt' | 'stoppedMs' | 'tasks'>) {
    this.#limits = limits;
    this.#startedAt = Date.parse(startedAt);
    this.stoppedMs = stoppedMs;
    for (const { name, end } of tasks) if (end !== null) this.note(name, end);
  }

  /** Records the total usage of a loop. A loop without a run has cost nothing, which its state does not record. */
  note(loop: string, { costUsd, tokens }: Spent): void {
    this.#spent.set(loop, { costUsd: tokens === 0 ? (costUsd ?? 0) : costUsd, tokens });
  }

  /** Holds every loop until then, in epoch milliseconds. */
  hold(until: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, until);
  }

  of(loop: string): Spent | undefined {
    return this.#spent.get(loop);
  }

  /** Returns the usage of all loops; the cost is null while that of any loop is unknown. */
  get spent(): Spent {
    const all = [...this.#spent.values()];
    const costs = all.map(({ costUsd }) => costUsd);
    return {
      costUsd: costs.includes(null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
      tokens: all.reduce((sum, { tokens }) => sum + tokens, 0),
    };
  }

  /** Returns the answer to another agent run at `at`, in epoch milliseconds. */
  permit(at: number): Permit {
    const [limits, spent, passed] = [this.#limits, this.spent, at - this.#startedAt - this.stoppedMs];
    if (limits.maxCostUsd !== null && spent.costUsd === null)
      return { kind: 'budget', reading: PARALLEL_TEXTS.unknownCost, more: {} };
    const reached = readLimits(spent, passed, limits).find(({ used, limit }) => used >= limit);
    if (reached !== undefined)
      return { kind: 'budget', reading: reached.text, more: moreOf(reached.name, reached.more) };
    if (at < this.#heldUntil) return { kind: 'hold', until: new Date(this.#heldUntil).toISOString() };
    return { kind: 'go', allowance: allowanceOf(spent, passed, limits) };
  }
}

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
  /** True once no further loop may begin. */
  protected closed = false;
  /** Reached limit of the shared budget; null while none is. */
  protected refused: OverBudget | null = null;

  /** Marks of the settings of the task files before the first agent, by path. */
  readonly #settings: ReadonlyMap<string, string>;

  constructor(options: BatchRun) {
    this.options = options;
    const { projectDir, env, batch } = options;
    const paths = batch.plan === undefined ? batch.tasks.map(({ taskPath }) => taskPath) : [batch.plan.path];
    this.#settings = new Map(paths.map((path) => [path, markOfSettings(projectDir, path) ?? NO_FILE]));
    this.budget = new SharedBudget(batch);
    for (const { name, step } of batch.tasks) {
      // A killed run has recorded no figures of its active loops.
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

  /** Records how the run ended, and returns the record. If the run is over, it is archived. */
  protected close(record: Batch, ended: Omit<NonNullable<Batch['ended']>, 'at'>, isOver: boolean): Batch {
    const { projectDir, env } = this.options;
    const used = this.refused && PARALLEL_TEXTS.budgetUsed(this.refused.reading);
    const text = used === null ? ended.text : `${used} ${ended.text.replace(/^./, (first) => first.toUpperCase())}`;
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
    if (permit.kind === 'budget') this.refused = permit;
    return permit;
  }

  protected abstract work(): Promise<void>;
  protected abstract end(): BatchEnd;
  protected abstract processes(): readonly LoopProcess[];
  protected abstract stopLoops(how: 'stop' | 'cancel'): void;
}

/** Mark of a task file that did not exist: no file has these settings. */
const NO_FILE = 'absent';
