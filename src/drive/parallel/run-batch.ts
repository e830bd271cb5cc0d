import { existsSync } from 'node:fs';
import { exitCode } from '../../engine/exit-code.ts';
import { billedTokens } from '../../engine/policy/budget.ts';
import { timeSpent } from '../../engine/policy/loop-time.ts';
import type { Batch, BatchTask } from '../../engine/schema/batch.ts';
import { describeLoop, endedLoopOf } from '../status/loop-report.ts';
import { checkedOut, tipOf } from '../worktree/repository.ts';
import { worktreeLoop, worktreePlace } from '../worktree/worktree-place.ts';
import { firstCode, isToIntegrate, NEW_END, NOT_INTEGRATED, withLeft, wordsFor } from './batch.ts';
import { integrate } from './delivery/integrate.ts';
import { commentIssue } from './issues.ts';
import { INTEGRATE_TEXTS, PARALLEL_TEXTS } from './messages.ts';
import { provedText } from './proved-text.ts';
import type { BatchEnd, BatchRun, LoopEnd, LoopProcess } from './side-by-side-runner.ts';
import { SideBySideRunner } from './side-by-side-runner.ts';

/** Runs independent tasks side by side, and integrates the work of those that are complete. */
export class BatchRunner extends SideBySideRunner {
  readonly #active = new Map<string, LoopProcess>();
  /** Aborted once nothing more is to be integrated. */
  readonly #integrating = new AbortController();
  #tasks: readonly BatchTask[];

  constructor(options: BatchRun) {
    super(options);
    this.#tasks = options.batch.tasks;
  }

  protected async work(): Promise<void> {
    await Promise.all(Array.from({ length: this.options.batch.atOnce }, () => this.#lane()));
    try {
      await this.#integrate();
      this.#tellIssues();
    } catch (error) {
      if (!this.#integrating.signal.aborted) throw error;
    }
  }

  protected end(): BatchEnd {
    const record = { ...this.options.batch, tasks: [...this.#tasks] };
    const { tasks } = this.closed ? withLeft(record) : record;
    const isLeft = this.#tasks.some((task) => isToIntegrate(record, task) && (this.closed || this.#mayIntegrate(task)));
    const haveEnded = tasks.every(({ step }) => step === 'ended') && !(this.closed && isLeft);
    const code = batchCode(tasks, this.refused);
    const ended = this.#ended(tasks, haveEnded, isLeft);
    return { batch: { ...this.close(record, ended, haveEnded && !isLeft), tasks }, code };
  }

  /** Returns whether a resume can integrate work that could not be before: the user may have removed the obstacle. */
  #mayIntegrate(task: BatchTask): boolean {
    return !this.#isUnproven(task) && existsSync(worktreePlace(this.options.projectDir, task.name).dir);
  }

  #ended(tasks: readonly BatchTask[], haveEnded: boolean, isLeft: boolean): Omit<NonNullable<Batch['ended']>, 'at'> {
    if (haveEnded) {
      const complete = tasks.filter(({ end }) => end?.code === 0).length;
      const status = complete === tasks.length ? 'complete' : 'incomplete';
      const next = isLeft ? PARALLEL_TEXTS.integrate : null;
      return { status, text: PARALLEL_TEXTS.batchEnd(complete, tasks.length), next };
    }
    const isPaused = tasks.some(({ end }) => end?.status === 'paused');
    const left = this.pressed > 0 ? 'stopped' : isPaused ? 'paused' : 'interrupted';
    const status = this.refused === null ? left : 'budget-exhausted';
    return { status, text: PARALLEL_TEXTS.unfinished(null), next: PARALLEL_TEXTS.resume(this.refused?.more) };
  }

  protected processes(): readonly LoopProcess[] {
    return [...this.#active.values()];
  }

  protected stopLoops(how: 'stop' | 'cancel'): void {
    for (const process of this.processes()) process.stop(how);
    this.#integrating.abort();
  }

  protected override leave(): void {
    super.leave();
    this.#integrating.abort();
  }

  async #lane(): Promise<void> {
    for (let task = this.#next(); task !== undefined; task = this.#next()) await this.#work(task);
  }

  #next(): BatchTask | undefined {
    if (this.closed || this.permit().kind === 'budget') return undefined;
    return this.#tasks.find(({ step, name }) => step !== 'ended' && !this.#active.has(name) && !this.#tried.has(name));
  }

  readonly #tried = new Set<string>();

  async #work(task: BatchTask): Promise<void> {
    const { name } = task;
    this.#tried.add(name);
    const words = this.#wordsFor(task);
    if (words === null) return;
    this.#save({ ...task, step: 'started' });
    const { tell } = this.options;
    const process = this.start({
      name,
      taskPath: task.taskPath,
      words,
      tell: (event) => tell(name, event),
      onPermit: () => this.permit(),
    });
    this.#active.set(name, process);
    const end = await process.over;
    this.#active.delete(name);
    this.#saveEnd(name, end);
  }

  /** Returns the words of the command that begins or resumes the task; null if its loop has ended already. */
  #wordsFor(task: BatchTask): readonly string[] | null {
    const { batch, projectDir, env } = this.options;
    const words = (how: Parameters<typeof wordsFor>[3]) => wordsFor(batch, projectDir, task, how);
    const { name } = task;
    if (task.step === 'waiting' || !existsSync(worktreePlace(projectDir, name).dir))
      return words(batch.fresh ? 'fresh' : 'begin');
    const { live, lost, lastState } = describeLoop(worktreeLoop(projectDir, name, env), env);
    if (live !== null || lost !== null) return words('resume');
    if (lastState === null || lastState.startedAt < batch.startedAt) return words('fresh');
    const end = lastState.status === 'ended' ? lastState.ended.as : 'interrupted';
    if (task.end?.status === end) return words('resume');
    // The process that watched it was killed after its loop had ended.
    const { loopId, status, iteration, message, costUsd, endedAt, verified, proof } = endedLoopOf(lastState, name);
    const tokens = billedTokens(lastState.usage);
    const lacksProof = batch.words.includes('--require-verified') && !verified;
    const code = exitCode(end, lacksProof);
    const figures = { iterations: iteration, costUsd, tokens, durationMs: timeSpent(lastState, endedAt) };
    const proved = proof && { proof, files: null };
    this.#save({ ...task, loopId, step: 'ended', end: { ...NEW_END, status, code, message, ...figures, proved } });
    return null;
  }

  #saveEnd(name: string, { end, died, loopId }: LoopEnd): void {
    const found = this.#tasks.find((one) => one.name === name);
    if (found === undefined) return;
    const left = this.#isResumable(end.status) ? 'started' : 'ended';
    this.#save({ ...found, loopId: loopId ?? found.loopId, step: died ? found.step : left, end });
  }

  /** Returns whether a resume of the run continues a loop with this end: the run ended it, by its budget or Ctrl+C. */
  #isResumable(status: string): boolean {
    if (status === 'budget-exhausted') return this.refused !== null;
    if (status === 'stopped' || status === 'cancelled') return this.pressed > 0;
    return status === 'paused' || status === 'interrupted';
  }

  async #integrate(): Promise<void> {
    for (const { name } of this.#tasks) {
      if (this.closed) return;
      const task = this.#tasks.find((one) => one.name === name);
      if (task === undefined || !isToIntegrate(this.options.batch, task)) continue;
      await this.#integrateOne(task, task.end);
    }
  }

  /** Comments on the issues of tasks that are over, except those to be resumed or still to be integrated. */
  #tellIssues(): void {
    const { projectDir, env, notice } = this.options;
    for (const task of this.#tasks) {
      const { end, issue, step, name } = task;
      const isOpen = isToIntegrate(this.options.batch, task) && end?.problem === null;
      if (this.closed || end === null || issue === undefined || issue.told || step !== 'ended' || isOpen) continue;
      const proved = provedText(projectDir, name, env);
      const { message, done } = commentIssue({ projectDir, env }, { ...task, end, issue }, proved);
      notice(message);
      if (done) this.#save({ ...task, issue: { ...issue, told: true } });
    }
  }

  /** Returns whether this is an unverified completion that the user does not accept. */
  #isUnproven({ name, end }: BatchTask): boolean {
    const isNew = end?.problem === null || end?.problem === INTEGRATE_TEXTS.unproven(name);
    return this.options.batch.words.includes('--require-verified') && end?.code !== 0 && isNew;
  }

  async #integrateOne(task: BatchTask, end: NonNullable<BatchTask['end']>): Promise<void> {
    const { batch, projectDir, env, notice } = this.options;
    const { name } = task;
    if (batch.integrate === 'none') return;
    let delivery = end.delivery ?? null;
    const { message, outcome } = this.#isUnproven(task)
      ? { message: INTEGRATE_TEXTS.unproven(name), outcome: 'failed' as const }
      : await integrate({
          projectDir,
          name,
          how: batch.integrate,
          report: end.message,
          issue: task.issue?.url ?? null,
          before: this.#tasks.flatMap((one) => {
            const former = one.end?.integrated === null ? undefined : one.end?.delivery;
            return former === undefined ? [] : [{ name: one.name, delivery: former }];
          }),
          delivery,
          record: (made) => {
            delivery = made;
            this.#save({ ...task, end: { ...end, delivery: made } });
          },
          env,
          signal: this.#integrating.signal,
          tell: notice,
        });
    notice(message);
    const tip = batch.integrate === 'pr' ? tipOf(projectDir, worktreePlace(projectDir, name).branch, env) : null;
    const commit = tip ?? checkedOut(projectDir, env).commit;
    const way =
      outcome === 'done'
        ? { code: 0, integrated: message, problem: null, commit }
        : { code: NOT_INTEGRATED, problem: message };
    this.#save({ ...task, end: { ...end, ...(delivery && { delivery }), ...way } });
  }

  #save(task: BatchTask): void {
    this.#tasks = this.#tasks.map((one) => (one.name === task.name ? task : one));
    this.write({ ...this.options.batch, tasks: [...this.#tasks] });
  }
}

/** Returns the exit code of a run: the first of 130, 1, 2, 3 that any loop left; 0 only if all are complete. */
export function batchCode(tasks: readonly BatchTask[], refused: object | null): number {
  return firstCode(tasks.map(({ end }) => end?.code ?? (refused === null ? 3 : 2))) ?? 0;
}
