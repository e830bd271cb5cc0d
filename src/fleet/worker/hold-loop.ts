import { join } from 'node:path';
import { type Supervised, type SupervisedEnd, supervise } from '../../drive/parallel/supervise.ts';
import type { Permit } from '../../drive/runner/runner.ts';
import { passTerms } from '../../drive/start/terms/portable-terms.ts';
import { describeLoop } from '../../drive/status/loop-report.ts';
import { reportLines } from '../../engine/end-report.ts';
import { billedTokens, type Spent, spentOf } from '../../engine/policy/budget.ts';
import type { RunnerEvent, RunnerEventOf } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readRecord } from '../../state/files/regular-file.ts';
import { runnerHold } from '../../state/lock/owner.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { endGroup, signalGroup } from '../../state/process/group.ts';
import { isAlive, type ProcessIdentity } from '../../state/process/identity.ts';
import { runSetUp } from '../../task/commands/run-command.ts';
import { scratch } from '../git/place.ts';
import { GIT_TEXTS, WORKER_TEXTS } from '../messages.ts';
import { heldUntil, holdAccount } from '../queue/budget.ts';
import { endedAs, type HeldEnd, type Holding, LostLoop, PutBack, thisWorker } from './holding.ts';

type Ended = RunnerEventOf<'run.ended'>;

/** Longest wait during which a loop keeps its slot. */
const SHORT_WAIT_MS = 5_000;
const COMMANDS_MS = 1_000;
/** Delay before a loop whose runner died may be claimed again. */
const AGAIN_MS = 5_000;
/** Time for a runner to end its agent and exit after SIGTERM. */
const LEAVE_MS = 20_000;

/** Runs one loop in a supervised runner until it ends or waits. Publishes a checkpoint between any two iterations. */
export class LoopHolder {
  readonly #holding: Holding;
  #run: Supervised | null = null;
  #ended: Ended | null = null;
  #isLive = false;
  #maxIterations: number;
  /** How this claim ends, once decided; null while the runner may continue. */
  #end: HeldEnd | null = null;
  #isSentAway = false;
  /** Last complaint about a push, which is told once. */
  #refusal = '';
  /** First error of the server or the repository, which ends the claim; or null. */
  #failure: Error | null = null;

  constructor(holding: Holding) {
    this.#holding = holding;
    this.#maxIterations = this.#state()?.maxIterations ?? 0;
  }

  /**
   * Runs the loop and returns how this claim ends. Throws `LostLoop` if the lock is lost, `PutBack` if the runner died or another
   * process ended it, and otherwise the server's first error.
   */
  async run(): Promise<HeldEnd> {
    const { commands, lost, leaving, hurry, files } = this.#holding;
    await commands.apply(false);
    if (commands.wanted === 'cancel') return endedAs('cancelled', WORKER_TEXTS.asked);
    if (commands.wanted === 'pause') return endedAs('paused', WORKER_TEXTS.asked);
    if (leaving.aborted) return { kind: 'waits', until: 0, why: '' };
    const unready = await setUp(this.#holding);
    if (unready !== null) return unready;
    const run = this.#start();
    this.#run = run;
    const onLost = (): void => void endAtOnce(files, run.pid);
    const onHurry = (): void => this.#sendAway({ kind: 'waits', until: 0, why: '' });
    lost.addEventListener('abort', onLost);
    hurry.addEventListener('abort', onHurry);
    if (lost.aborted) onLost();
    if (hurry.aborted) onHurry();
    const timer = setInterval(() => void this.#poll(), COMMANDS_MS);
    try {
      const end = await run.done;
      if (lost.aborted) await endAtOnce(files, run.pid);
      return await this.#conclude(end);
    } finally {
      clearInterval(timer);
      lost.removeEventListener('abort', onLost);
      hurry.removeEventListener('abort', onHurry);
    }
  }

  #start(): Supervised {
    const { terms, ws, env, program } = this.#holding;
    return supervise({
      directory: ws.dir,
      env: { ...env, ...passTerms(join(scratch(ws), 'terms.json'), terms.fixed) },
      words: [...program, ...this.#words()],
      onEvent: (event) => this.#hear(event),
      onPermit: (spent) => this.#boundary(spent),
      // Its terms are fixed.
      settings: null,
    });
  }

  /** Returns the words of the run: `--resume` if the loop has begun, else its task. */
  #words(): string[] {
    const { submission, ws, files, env } = this.#holding;
    const { task, name, contract } = submission;
    const { live, lost, lastState } = describeLoop(files, env);
    const isBegun = live !== null || lost !== null || lastState !== null;
    return [
      'run',
      ...(isBegun ? ['--resume'] : ['--task', join(ws.dir, task.path)]),
      ...['--loop', name, '--json', '--project', ws.dir],
      ...Object.entries(contract.flags).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
      ...Object.entries(contract.args).flatMap(([key, value]) => ['--arg', `${key}=${value}`]),
    ];
  }

  #hear(event: RunnerEvent): void {
    const { budget } = this.#holding;
    switch (event.type) {
      case 'run.started':
        this.#isLive = true;
        this.#maxIterations = event.maxIterations;
        return;
      case 'agent.ended':
        budget.use(event.costUsd, event.usage === null ? 0 : billedTokens(event.usage));
        if (event.heldUntil !== undefined) this.#holdAccount(Date.parse(event.heldUntil));
        return;
      case 'wait.started': {
        const until = Date.parse(event.until);
        if (event.why === 'rate-limit') this.#holdAccount(until);
        const isLong = event.why !== 'retry' && until - Date.now() > SHORT_WAIT_MS;
        if (isLong) this.#sendAway({ kind: 'waits', until, why: event.why });
        return;
      }
      case 'loop.paused':
        this.#sendAway(endedAs('paused', WORKER_TEXTS.asked));
        return;
      case 'run.ended':
        this.#ended = event;
        return;
      default:
        return;
    }
  }

  #holdAccount(until: number): void {
    const { server, submission } = this.#holding;
    holdAccount(server, submission.account, until).catch((error: Error) => {
      this.#failure ??= error;
    });
  }

  /** Publishes the last iteration, then decides whether another one may start. */
  async #boundary(spent: Spent): Promise<Permit> {
    try {
      const end = await this.#next(spent);
      if (end === null) return { kind: 'go' };
      this.#end ??= end;
    } catch (error) {
      this.#failure ??= error as Error;
    }
    return { kind: 'leave' };
  }

  async #next(spent: Spent): Promise<HeldEnd | null> {
    const { line, commands, budget, server, submission, leaving, lost } = this.#holding;
    if (this.#end !== null) return this.#end;
    const iteration = this.#state()?.iteration ?? 0;
    if (iteration > line.meta.iteration) {
      // A published iteration resets the count of workers that died.
      const change = { iteration, takeOvers: 0, lastCommand: commands.last, spent };
      await line.push(change, (why) => this.#unreachable(why));
    }
    await budget.settle();
    await this.tell(null);
    await commands.apply(true);
    if (commands.wanted !== null)
      return endedAs(commands.wanted === 'pause' ? 'paused' : 'cancelled', WORKER_TEXTS.asked);
    if (lost.aborted) throw new LostLoop(WORKER_TEXTS.lockLost);
    if (leaving.aborted) return { kind: 'waits', until: 0, why: '' };
    const held = await heldUntil(server, submission.account);
    if (held > 0) return { kind: 'waits', until: held, why: 'rate-limit' };
    const used = await budget.next();
    if (used === null) return null;
    const reading = `$${used.costUsd.toFixed(2)} and ${used.tokens} tokens`;
    return endedAs('fleet-budget', WORKER_TEXTS.budget(reading));
  }

  #state(): LoopState | null {
    const { files, env } = this.#holding;
    const { found, lastState } = describeLoop(files, env);
    return found.kind === 'loop' ? found.state : lastState;
  }

  async #poll(): Promise<void> {
    const { commands, lost, events, files } = this.#holding;
    if (!lost.aborted) events.follow(files.events);
    if (lost.aborted || !this.#isLive || this.#ended !== null) return;
    try {
      await commands.apply(true);
    } catch {
      // The server is unreachable; the commands are read again in a second.
    }
  }

  /** Stops the runner, even if it was only asked to leave and hangs, and kills it after LEAVE_MS. */
  #sendAway(end: HeldEnd): void {
    this.#end ??= end;
    const run = this.#run;
    if (run === null || this.#isSentAway) return;
    this.#isSentAway = true;
    run.signal('SIGTERM');
    const force = setTimeout(() => void endAtOnce(this.#holding.files, run.pid), LEAVE_MS);
    void run.done.then(() => clearTimeout(force));
  }

  async #conclude({ code, signal, failure, complaint }: SupervisedEnd): Promise<HeldEnd> {
    const { lost, commands } = this.#holding;
    if (lost.aborted) throw new LostLoop(WORKER_TEXTS.lockLost);
    if (this.#failure !== null) throw this.#failure;
    const ended = this.#ended;
    if (ended === null) {
      // The runner refused to start the loop, as every other worker's would. Its advice names commands for this machine.
      if (!this.#isLive && code !== null && code !== 0) return endedAs('error', failure?.text ?? complaint);
      throw new PutBack(Date.now() + AGAIN_MS, WORKER_TEXTS.died(signal ?? `exit code ${code}`));
    }
    if (ended.status === 'cancelled' || commands.wanted === 'cancel') return endedAs('cancelled', WORKER_TEXTS.asked);
    // A loop that ended by itself while its runner was being stopped counts as ended.
    const isOver = ended.status !== 'interrupted' && ended.status !== 'paused';
    if (this.#end !== null && !isOver) return this.#end;
    // A signal from another process ended the runner.
    if (ended.status === 'interrupted') throw new PutBack(Date.now() + AGAIN_MS, ended.message);
    // The message also advises commands for a loop on this machine, so its plain text is used.
    const { status: outcome, message, text: reason = message, report } = ended;
    const lines = report === undefined ? [reason] : reportLines({ ...report, next: null, restore: null });
    return { kind: 'ended', outcome, reason, report: lines.join('\n') };
  }

  /** Publishes the last checkpoint of this claim. `outcome` is null for a waiting loop. */
  async signOff(outcome: string | null, reason: string): Promise<void> {
    const { line, commands, budget } = this.#holding;
    const state = this.#state();
    const { iteration, spent } = state === null ? line.meta : { ...state, spent: spentOf(state.usage) };
    const change = { iteration, spent, lastCommand: commands.last, outcome, reason };
    const isNew = iteration > line.meta.iteration;
    const last = { ...change, signedOff: true, ...(isNew && { takeOvers: 0 }) };
    await line.push(last, (why) => this.#unreachable(why));
    await budget.settle();
  }

  /** Reports why no checkpoint can be published. The loop waits until the repository answers. */
  #unreachable(why: string): void {
    if (why !== this.#refusal) this.#holding.events.tell({ type: 'notice', message: GIT_TEXTS.refused(why) });
    this.#refusal = why;
    this.tell('repository').catch(() => undefined);
  }

  /** Reports the loop's progress, and why it waits. */
  tell(waits: string | null): Promise<void> {
    const { line, progress } = this.#holding;
    const { attempt, iteration, takeOvers, spent } = line.meta;
    const used = { attempt, iteration, maxIterations: this.#maxIterations, sha: line.sha, takeOvers, ...spent };
    return progress({ ...used, worker: thisWorker(), waits, at: new Date().toISOString() });
  }
}

/** Kills a runner and its agent at once. Resolves when both process groups have ended. */
async function endAtOnce(files: LoopFiles, runner: number | undefined): Promise<void> {
  const agent = agentOf(files);
  // The runner first: it would start another agent.
  if (runner !== undefined) signalGroup(runner, 'SIGKILL');
  if (agent !== null) {
    signalGroup(agent.pid, 'SIGKILL');
    await endGroup(agent.pid);
  }
  if (runner !== undefined) await endGroup(runner);
}

/** Returns the agent recorded by the runner of this loop; null if none is alive. */
function agentOf(files: LoopFiles): ProcessIdentity | null {
  // A torn file names no agent; the watch started by the runner then ends it.
  const { agent } = readRecord<{ readonly agent: ProcessIdentity | null }>(runnerHold(files)) ?? {};
  return typeof agent?.pid === 'number' && agent.pid > 1 && isAlive(agent) ? agent : null;
}

/**
 * Runs the set-up command of the agreed terms in a new work tree. Returns null, or why no iteration starts: the command
 * failed, the user cancelled or paused the loop, or the worker is stopping. The last two end the command. Throws `LostLoop` if
 * the lock is lost meanwhile.
 */
async function setUp({ terms, ws, env, commands, events, lost, leaving }: Holding): Promise<HeldEnd | null> {
  const { worktreeSetup: command } = terms.fixed.resolved.settings;
  const { sandbox } = terms.fixed.terms;
  if (command === null) return null;
  events.tell({ type: 'notice', message: WORKER_TEXTS.settingUp(command) });
  const unwanted = new AbortController();
  const signal = AbortSignal.any([lost, leaving, unwanted.signal]);
  const look = async (): Promise<void> => {
    await commands.apply(false);
    if (commands.wanted !== null) unwanted.abort();
  };
  // If the server is unreachable, the commands are read again a second later.
  const timer = setInterval(() => void look().catch(() => undefined), COMMANDS_MS);
  try {
    const failed = await runSetUp(command, ws.dir, { sandbox, env, signal });
    return failed && endedAs('set-up-failed', WORKER_TEXTS.setUpFailed(command, failed.how, failed.output));
  } catch (error) {
    if (!signal.aborted) throw error;
    if (lost.aborted) throw new LostLoop(WORKER_TEXTS.lockLost);
    if (commands.wanted !== null)
      return endedAs(commands.wanted === 'cancel' ? 'cancelled' : 'paused', WORKER_TEXTS.asked);
    return { kind: 'waits', until: 0, why: '' };
  } finally {
    clearInterval(timer);
  }
}
