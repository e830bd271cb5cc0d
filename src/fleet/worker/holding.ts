import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { operate } from '../../drive/control/operate.ts';
import { restoreMidTurn } from '../../drive/control/restore-protected.ts';
import { steering } from '../../engine/events.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import { type Meta, makeCheckpoint, pushCheckpoint } from '../git/checkpoint.ts';
import type { FleetPlace } from '../git/place.ts';
import type { Workspace } from '../git/workspace.ts';
import type { FleetKey, Submission } from '../job.ts';
import { GIT_TEXTS, WORKER_TEXTS } from '../messages.ts';
import type { FleetLimits, Reservations } from '../queue/budget.ts';
import { type FleetServer, KEYS } from '../queue/connect.ts';
import type { LoopProgress } from '../queue/loop-index.ts';
import { type EventSink, type FleetCommand, readCommands } from '../queue/loop-streams.ts';
import type { FleetTerms } from '../submission-terms.ts';

/** Leaves a job to its current holder; nothing is published. */
export class LostLoop extends Error {}

/** Returns a job to the queue until an instant of this machine's clock, in epoch milliseconds. */
export class PutBack extends Error {
  readonly until: number;

  constructor(until: number, why: string) {
    super(why);
    this.until = until;
  }
}

const LOOK_MS = 200;

interface LockOptions {
  /** Extends the lock on the server by its whole duration; false if another worker has it, or if it has expired. */
  readonly renew: () => Promise<boolean>;
  /** Lifetime of a lock without renewal on the server, in milliseconds. */
  readonly durationMs: number;
}

/**
 * Extends the lock of one job. Aborts `lost` as soon as the server refuses a renewal, and at the latest when two thirds of
 * the lock's time have passed since the request of the last successful renewal: the rest is for ending the agent before
 * another worker can start one. A process that was frozen notices it at its first check.
 */
export class LockKeeper {
  readonly #options: LockOptions;
  readonly #lost = new AbortController();
  readonly #look: NodeJS.Timeout;
  #renewal: NodeJS.Timeout | null = null;
  #stopped = false;
  #last: Instant;

  constructor(options: LockOptions) {
    this.#options = options;
    this.#last = instant();
    this.#look = setInterval(() => this.check(), LOOK_MS);
    this.#schedule();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Aborts `lost` if another worker may have the lock. Called before every visible effect. */
  check(): void {
    if (this.#stopped || this.lost.aborted) return;
    if (since(this.#last) > (this.#options.durationMs * 2) / 3) this.#lost.abort();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#look);
    if (this.#renewal !== null) clearTimeout(this.#renewal);
  }

  #schedule(): void {
    if (this.#stopped || this.lost.aborted) return;
    this.#renewal = setTimeout(() => void this.#renew(), this.#options.durationMs / 4);
  }

  async #renew(): Promise<void> {
    const asked = instant();
    try {
      if (await this.#options.renew()) this.#last = asked;
      else if (!this.#stopped) this.#lost.abort();
    } catch {
      // The server does not answer: the renewal is retried until the lock's time has passed.
    }
    this.#schedule();
  }
}

interface Instant {
  readonly wall: number;
  readonly steady: number;
}

function instant(): Instant {
  return { wall: Date.now(), steady: performance.now() };
}

/** Returns the larger difference: the steady clock stops while the machine sleeps, and the wall clock can be set. */
function since({ wall, steady }: Instant): number {
  return Math.max(Date.now() - wall, performance.now() - steady);
}

export interface Claim {
  readonly submission: Submission;
  readonly server: FleetServer;
  readonly key: FleetKey;
  readonly place: FleetPlace;
  readonly limits: FleetLimits;
  /** Environment of the runner, its agent and its checks. */
  readonly env: NodeJS.ProcessEnv;
  /** Node's options and the program, to which the words of a command are appended. */
  readonly program: readonly string[];
  /** Last reported progress; null if there is none. */
  readonly told: LoopProgress | null;
  /** Aborted when another worker may have the lock of the job. */
  readonly lost: AbortSignal;
  /** Aborted when the worker is about to end: the loop stops after its iteration. */
  readonly leaving: AbortSignal;
  /** Aborted when the worker's grace period is over: the iteration is ended. */
  readonly hurry: AbortSignal;
  readonly progress: (progress: LoopProgress) => Promise<void>;
}

/** Context of the holder of one loop. */
export interface Holding extends Claim {
  /** Terms of the task in the workspace, equal to those of the submission. */
  readonly terms: FleetTerms;
  readonly ws: Workspace;
  readonly files: LoopFiles;
  readonly line: CheckpointLine;
  readonly commands: LoopCommands;
  readonly budget: Reservations;
  readonly events: EventSink;
}

/** End of a claim: the loop has ended, or it waits. */
export type HeldEnd =
  | { readonly kind: 'ended'; readonly outcome: string; readonly reason: string; readonly report: string }
  | { readonly kind: 'waits'; readonly until: number; readonly why: string };

/** Returns an end without a report by the loop itself. */
export function endedAs(outcome: string, reason: string): HeldEnd {
  return { kind: 'ended', outcome, reason, report: '' };
}

/** Returns the name of this worker in the progress of loops. */
export function thisWorker(): string {
  return `${hostname()}:${process.pid}`;
}

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

/** Facts about the claim to which a line belongs. */
type Owner = Pick<Claim, 'submission' | 'lost' | 'hurry'>;

/** Published history of a loop as its holder knows it: linear, and continued only by the holder of its end. */
export class CheckpointLine {
  /** Its end in the repository; null before the first checkpoint. */
  sha: string | null;
  meta: Meta;
  readonly #ws: Workspace;
  readonly #claim: Owner;

  constructor(ws: Workspace, claim: Owner, from: string | null, meta: Meta) {
    this.#ws = ws;
    this.sha = from;
    this.meta = meta;
    this.#claim = claim;
  }

  /**
   * Publishes the current files and state of the workspace. While the repository accepts nothing, `unreachable` is called and
   * the push is repeated until the lock is lost or the worker has to leave now: nothing runs on top of unpublished work. Without
   * `unreachable` there is no such work, and the first failure throws RalphError `state-io`. Throws `LostLoop` if another worker
   * has moved the reference, or if the lock is lost.
   */
  async push(change: Partial<Meta>, unreachable: ((why: string) => void) | null = null): Promise<void> {
    const { lost, hurry, submission } = this.#claim;
    const meta: Meta = { ...this.meta, ...change, at: new Date().toISOString() };
    this.#refuseLost();
    const sha = await makeCheckpoint(this.#ws, meta);
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MOST_WAIT_MS)) {
      this.#refuseLost();
      let complaint = '';
      const outcome = await pushCheckpoint(this.#ws, submission.checkpointRef, sha, this.sha, (why) => {
        complaint = why;
        unreachable?.(why);
      });
      if (outcome === 'fenced') throw new LostLoop(WORKER_TEXTS.fenced);
      if (outcome === 'pushed') {
        this.sha = sha;
        this.meta = meta;
        return;
      }
      if (unreachable === null || hurry.aborted) throw new RalphError('state-io', GIT_TEXTS.refused(complaint));
      await sleep(wait, undefined, { signal: AbortSignal.any([lost, hurry]) }).catch(() => undefined);
    }
  }

  #refuseLost(): void {
    if (this.#claim.lost.aborted) throw new LostLoop(WORKER_TEXTS.lockLost);
  }
}

type CommandTarget = Pick<Holding, 'server' | 'key' | 'submission' | 'files' | 'env'>;

/** Applies a loop's commands in order, each once: the checkpoint records the last one. */
export class LoopCommands {
  /** Id of the last applied command; null before the first. */
  last: string | null;
  /** The user's latest request for the loop, or null; kept until the claim ends. */
  wanted: 'cancel' | 'pause' | null = null;
  readonly #target: CommandTarget;
  #busy: Promise<void> = Promise.resolve();
  #refused = 0;

  constructor(target: CommandTarget, last: string | null) {
    this.#target = target;
    this.last = last;
  }

  /** Reads and applies new commands. `isLive`: the runner has started, so the loop has a state. */
  apply(isLive: boolean): Promise<void> {
    this.#busy = this.#busy.then(
      () => this.#read(isLive),
      () => this.#read(isLive),
    );
    return this.#busy;
  }

  async #read(isLive: boolean): Promise<void> {
    const { server, key, submission } = this.#target;
    const { commands, refused } = await readCommands(server, key, submission, this.last);
    if (refused !== this.#refused) await server.redis.hset(KEYS.refused, `commands of ${submission.loopId}`, refused);
    this.#refused = refused;
    for (const command of commands) {
      // A message needs a loop that can receive it; later commands wait as well.
      if (command.kind === 'steer' && !isLive) return;
      this.#carryOut(command, isLive);
      this.last = command.id;
    }
  }

  #carryOut({ kind, id, text, at }: FleetCommand, isLive: boolean): void {
    switch (kind) {
      case 'cancel':
        this.wanted = 'cancel';
        if (isLive) this.#operate(at, { kind: 'cancel' });
        return;
      case 'pause':
        if (this.wanted === null) this.wanted = 'pause';
        return;
      case 'steer':
        this.#operate(at, steering(id, text, 'now'));
        return;
      default:
        kind satisfies never;
    }
  }

  #operate(at: string, command: ReturnType<Parameters<typeof operate>[3]>): void {
    const { files, env } = this.#target;
    try {
      operate(files, env, at, () => command, { restore: restoreMidTurn });
    } catch (error) {
      // The loop has ended meanwhile and cannot receive anything.
      if (!(error instanceof RalphError) || error.code !== 'no-loop') throw error;
    }
  }
}
