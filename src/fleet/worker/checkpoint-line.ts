import { setTimeout as sleep } from 'node:timers/promises';
import { RalphError } from '../../text/message.ts';
import { type Meta, makeCheckpoint, pushCheckpoint } from '../git/checkpoint.ts';
import type { Workspace } from '../git/workspace.ts';
import type { Submission } from '../job.ts';
import { GIT_TEXTS, WORKER_TEXTS } from '../messages.ts';
import { LostLoop } from './lock-keeper.ts';

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

/** What a line belongs to: `lost` and `hurry` are those of its claim. */
interface Owner {
  readonly submission: Submission;
  readonly lost: AbortSignal;
  readonly hurry: AbortSignal;
}

/** Published history of a loop as its holder knows it: a linear one that only the holder of its end continues. */
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
   * Publishes the current files and state of the workspace. While the repository takes nothing, `unreachable` is called, and the
   * push is repeated until the lock is lost or the worker has to leave now: nothing runs on top of unpublished work. Without
   * `unreachable` there is no such work, and the first failure throws RalphError `state-io`. Throws `LostLoop` if another worker
   * has moved the reference, or the lock is lost.
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
