import { planKey, readyTasks, sequentialOrder, tasksToBegin } from '../../engine/plan/task-order.ts';
import { allPassed } from '../../engine/policy/proof.ts';
import type { BatchTask } from '../../engine/schema/batch.ts';
import type { PlanFileTask } from '../../task/plan/read-plan.ts';
import type { Permit } from '../runner/runner.ts';
import { plannedTasks } from '../status/plan-run.ts';
import type { PlanPart } from '../turn/turn.ts';
import { branchOf } from '../worktree/repository.ts';
import { NEW_END, type PlanBatch } from './batch.ts';
import { PARALLEL_TEXTS } from './messages.ts';
import { endNow, entryOf, isLive, planEnd, removeDone, withoutReport, wordsOfTask } from './plan-entry.ts';
import { changedSince, PlanSource } from './plan-source.ts';
import type { BatchEnd, BatchRun, LoopEnd, LoopProcess } from './side-by-side-runner.ts';
import { SideBySideRunner } from './side-by-side-runner.ts';
import type { PlanTurn } from './supervise.ts';

/** Maximum processes for each concurrent agent: tasks that wait for earlier ones to commit have no agent. */
const PROCESSES_EACH = 4;

interface ActiveTask {
  readonly id: string;
  readonly process: LoopProcess;
  /** True if its loop began earlier: when resumed, it may find its own commit and tick its box. */
  readonly mayBeDone: boolean;
  /** True while it occupies a slot for agents: from its start until its work waits to be committed. */
  holdsSlot: boolean;
  /** Answers a run that waits for its turn, or for a free slot. */
  turn: ((turn: PlanTurn) => void) | null;
  permit: (() => void) | null;
}

/**
 * Runs tasks of a plan side by side, each in its own worktree and process, with a limited number of agents. The plan in the
 * project decides what is done. Tasks commit one at a time, in sequential order. Once a task is blocked or ends without
 * completing, no other task begins, but the active ones are still committed.
 */
export class PlanRunner extends SideBySideRunner {
  readonly #active = new Map<string, ActiveTask>();
  readonly #plan: PlanSource;
  #record: PlanBatch;
  /** Commits of the tasks committed in this run, and their proofs, by loop name. */
  readonly #commits = new Map<string, Pick<NonNullable<BatchTask['end']>, 'commit' | 'proved'>>();
  /** The plan as last read. */
  #tasks: readonly PlanFileTask[] = [];
  /** Loop whose work may be committed now, or null. */
  #inTurn: string | null = null;
  /** Reason why nothing more is committed; null while work is. */
  #halted: string | null = null;
  #arranging: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  /** Files on which the checks rest changed, but not by a task, so no other agent starts. */
  #isHeld = false;

  constructor(options: BatchRun & { readonly batch: PlanBatch }) {
    super(options);
    this.#record = options.batch;
    this.#plan = new PlanSource(options.projectDir, options.batch.plan.path);
  }

  protected async work(): Promise<void> {
    this.#save({});
    this.#takeUp();
    await Promise.all(this.processes().map(({ over }) => over));
    await this.#arrange();
    while (this.#active.size > 0) {
      await Promise.race(this.processes().map(({ over }) => over));
      await this.#arrange();
    }
  }

  protected end(): BatchEnd {
    const failure = this.#failure ?? this.#plan.failure;
    if (failure !== null) throw failure;
    this.#tasks = this.#plan.now();
    this.#save({});
    const why = { refused: this.refused, pressed: this.pressed > 0, isHeld: this.#isHeld };
    const end = planEnd(this.options.projectDir, this.#record, why);
    const { text, advice: [next = null] = [] } = end.message;
    return { batch: this.close(this.#record, { status: end.status, text, next }, end.isOver), code: end.code };
  }

  protected processes(): readonly LoopProcess[] {
    return [...this.#active.values()].map(({ process }) => process);
  }

  protected stopLoops(how: 'stop' | 'cancel'): void {
    for (const { process, permit } of this.#active.values()) {
      // A task that waits for a slot has no agent and gets none.
      if (permit !== null) process.signal('SIGTERM');
      else process.stop(how);
    }
    void this.#arrange();
  }

  protected override permit(): Permit {
    const { projectDir, env, notice } = this.options;
    const permit = super.permit();
    if (permit.kind === 'budget') this.closed = true;
    const { rests } = this.#record.plan;
    const changed = permit.kind === 'go' && rests ? changedSince(projectDir, rests, env) : [];
    if (changed.length === 0) return permit;
    // Each task fixes its own contract from a branch that a process of an earlier agent may have moved.
    if (!this.closed) notice(PARALLEL_TEXTS.restsChanged(changed, 'No other agent starts. Review them, then resume.'));
    this.closed = true;
    this.#isHeld = true;
    return { kind: 'leave' };
  }

  /** Handles the consequences of a change: turns, slots, tasks that may begin. Runs are serialised. */
  #arrange(): Promise<void> {
    this.#arranging = this.#arranging.then(async () => {
      try {
        await this.#arrangeNow();
      } catch (error) {
        this.#failure ??= error;
        this.leave();
      }
    });
    return this.#arranging;
  }

  async #arrangeNow(): Promise<void> {
    const { projectDir, env } = this.options;
    // The task whose turn it is may be writing plan and branch.
    if (this.#inTurn === null || !this.#active.has(this.#inTurn)) {
      const mayBeDone = [...this.#active.values()].flatMap(({ id, mayBeDone }) => (mayBeDone ? [id] : []));
      // A loop that died during its turn repairs the plan when it is resumed.
      if (this.#halted === null) for (const text of this.#plan.hold(mayBeDone)) this.options.notice(text);
      this.#tasks = await this.#plan.withScopes(env);
    }
    const tasks = this.#tasks;
    if (this.#plan.failure !== null) this.closed = true;
    const { from, maxTasks, done, branch } = this.#record.plan;
    const most = Math.max(0, maxTasks - done.length);
    const order = sequentialOrder(tasks, from, most).map(({ id }) => planKey(id));
    this.#giveSlots();
    this.#giveTurn(tasks, order);
    if (this.closed) return;
    const current = branchOf(projectDir, env);
    if (current !== branch) {
      this.closed = true;
      this.options.notice(PARALLEL_TEXTS.planBranch(current, branch));
      return;
    }
    const atWork = new Set([...this.#active.values()].map(({ id }) => planKey(id)));
    for (const task of tasksToBegin(tasks, { from, most, atWork })) {
      const isFirst = planKey(task.id) === order[0];
      const isCrowded = this.#active.size >= PROCESSES_EACH * this.#record.atOnce && !isFirst;
      if (slotsHeld(this.#active.values()) >= this.#record.atOnce || isCrowded) return;
      if (['budget', 'leave'].includes(this.permit().kind)) return;
      this.#start(entryOf(this.#record, projectDir, task));
    }
  }

  /** Gives free slots to active tasks that wait for one, before new tasks begin. */
  #giveSlots(): void {
    for (const active of this.#active.values()) {
      if (active.permit === null || slotsHeld(this.#active.values()) >= this.#record.atOnce) continue;
      active.holdsSlot = true;
      active.permit();
      active.permit = null;
    }
  }

  #giveTurn(tasks: readonly PlanFileTask[], order: readonly string[]): void {
    const ready = new Set(readyTasks(tasks).map(({ id }) => planKey(id)));
    const waiting = [...this.#active].filter(([, { turn }]) => turn !== null);
    for (const [, active] of waiting) {
      if (this.#halted === null && ready.has(planKey(active.id))) continue;
      active.turn?.({ refused: this.#halted ?? PARALLEL_TEXTS.planChanged(active.id, this.#record.plan.path) });
      active.turn = null;
    }
    if (this.#inTurn !== null && this.#active.has(this.#inTurn)) return;
    this.#inTurn = null;
    const keys = [...this.#active.values()].map(({ id }) => planKey(id));
    // Once no further task may begin, the active ones are committed in their order.
    const next = this.closed || order.length === 0 ? order.concat(keys).find((key) => keys.includes(key)) : order[0];
    const [name, active] = waiting.find(([, { id, turn }]) => planKey(id) === next && turn !== null) ?? [];
    if (name === undefined || active === undefined) return;
    this.#inTurn = name;
    active.turn?.({ session: this.#record.plan.done });
    active.turn = null;
  }

  /** Starts tasks of a killed run that are done or blocked in the plan: their loops may still have to record that. */
  #takeUp(): void {
    const { projectDir, env } = this.options;
    const tasks = this.#plan.now();
    for (const entry of this.#record.tasks) {
      const status = tasks.find(({ id }) => planKey(id) === planKey(entry.planTask ?? ''))?.status;
      if (entry.step === 'ended' && entry.end?.status === 'complete') removeDone(this.options, entry.name);
      if (entry.step === 'ended') continue;
      if (status === undefined) this.#saveTask({ ...entry, step: 'ended', end: entry.end ?? endNow('stopped').end });
      if (status !== 'done' && status !== 'blocked') continue;
      if (isLive(projectDir, entry.name, env)) this.#start(entry);
      else this.#endTask(entry, endNow(status === 'done' ? 'complete' : status));
    }
  }

  #start(entry: BatchTask): void {
    const { projectDir, env, tell } = this.options;
    const { name, planTask: id = '' } = entry;
    const { branch, done, baseline, noChange = [], written = [] } = this.#record.plan;
    const words = wordsOfTask(this.#record, projectDir, env, entry);
    const mayBeDone = entry.step !== 'waiting';
    this.#saveTask({ ...entry, step: 'started', end: null });
    const process = this.start({
      name,
      taskPath: entry.taskPath,
      words,
      tell: (event) => tell(name, withoutReport(event)),
      onPermit: () => this.#permit(name),
      plan: {
        terms: {
          task: id,
          mainDir: projectDir,
          branch,
          done: done.length,
          noChange,
          written,
          ...(baseline && { baseline }),
        },
        onTurn: () => this.#turn(name),
        onTurnOver: (work) => this.#turnOver(name, id, work),
      },
    });
    const active: ActiveTask = { id, process, mayBeDone, holdsSlot: true, turn: null, permit: null };
    this.#active.set(name, active);
    void process.over.then((end) => {
      this.#active.delete(name);
      // It may have written a tick without its commit on the branch; resuming it repairs that.
      if (end.died && this.#inTurn === name) this.#halted = PARALLEL_TEXTS.diedInTurn(id);
      this.#endTask(entry, end);
    });
  }

  /** Answers whether the agent of a task may run: at once if it holds a slot, otherwise when one is free. */
  #permit(name: string): Permit | Promise<Permit> {
    const permit = this.permit();
    const active = this.#active.get(name);
    if (permit.kind !== 'go' || active === undefined || active.holdsSlot) return permit;
    if (this.#inTurn === name) this.#inTurn = null;
    return new Promise((resolve) => {
      active.permit = () => resolve(this.permit());
      void this.#arrange();
    });
  }

  #turn(name: string): Promise<PlanTurn> {
    return new Promise((resolve) => {
      const active = this.#active.get(name);
      if (active === undefined) return;
      active.holdsSlot = false;
      active.turn = resolve;
      void this.#arrange();
    });
  }

  #endTask(entry: BatchTask, { end, loopId }: Omit<LoopEnd, 'died'>): void {
    const id = entry.planTask ?? '';
    const status = this.#plan.statusOf(id);
    const isDone = status === 'done' && end.status === 'complete';
    const isBlocked = status === 'blocked' && end.status === 'blocked';
    if (isDone) this.#countDone(id);
    else this.closed = true;
    const integrated = isDone ? PARALLEL_TEXTS.committed(id) : null;
    const { commit, proved } = this.#commits.get(entry.name) ?? NEW_END;
    this.#saveTask({
      ...entry,
      loopId: loopId ?? entry.loopId,
      step: isDone || isBlocked ? 'ended' : 'started',
      end: { ...end, integrated, commit, proved },
    });
    if (isDone) removeDone(this.options, entry.name);
  }

  /** Lets the next task proceed, although this loop has not ended yet. */
  #turnOver(name: string, id: string, work: Parameters<PlanPart['endTurn']>[0]): void {
    if (this.#inTurn === name) this.#inTurn = null;
    const status = this.#plan.statusOf(id);
    const isDone = status === 'done' && work !== null;
    if (isDone) {
      const { commit, ...proved } = work;
      this.#commits.set(name, { commit, proved });
      const { plan } = this.#record;
      if (commit !== null && plan.rests) this.#save({ plan: { ...plan, rests: { ...plan.rests, commit } } });
    }
    if (isDone) this.#countDone(id);
    if (status === 'blocked') this.closed = true;
    void this.#arrange();
  }

  #countDone(id: string): void {
    const { plan } = this.#record;
    this.#plan.done(id);
    if (plan.done.some((each) => planKey(each) === planKey(id))) return;
    // A task is done once every check has passed on its work.
    const baseline = plan.baseline && allPassed(plan.baseline);
    this.#save({ plan: { ...plan, done: [...plan.done, id], ...(baseline && { baseline }) } });
  }

  #saveTask(task: BatchTask): void {
    const { tasks } = this.#record;
    const isKnown = tasks.some(({ name }) => name === task.name);
    this.#save({ tasks: isKnown ? tasks.map((one) => (one.name === task.name ? task : one)) : [...tasks, task] });
  }

  #save(change: Partial<Pick<PlanBatch, 'tasks' | 'plan'>>): void {
    const { plan } = { ...this.#record, ...change };
    const tasks = this.#tasks.length === 0 ? plan.tasks : plannedTasks(this.#tasks);
    this.#record = { ...this.#record, ...change, plan: { ...plan, tasks } };
    this.write(this.#record);
  }
}

function slotsHeld(tasks: Iterable<ActiveTask>): number {
  return [...tasks].filter(({ holdsSlot }) => holdsSlot).length;
}
