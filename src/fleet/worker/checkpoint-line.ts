import { setTimeout as sleep } from 'node:timers/promises';
import { type Meta, makeCheckpoint, pushCheckpoint } from '../git/checkpoint.ts';
import type { Workspace } from '../git/workspace.ts';
import type { Submission } from '../job.ts';
import { WORKER_TEXTS } from '../messages.ts';
import { LostLoop } from './lock-keeper.ts';

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

/** Published history of a loop as its holder knows it: a linear one that only the holder of its end continues. */
export class CheckpointLine {
  readonly #ws: Workspace;
  readonly #ref: string;
  readonly #lost: AbortSignal;
  #sha: string | null;
  #meta: Meta;

  constructor(ws: Workspace, { checkpointRef }: Submission, from: string | null, meta: Meta, lost: AbortSignal) {
    this.#ws = ws;
    this.#ref = checkpointRef;
    this.#sha = from;
    this.#meta = meta;
    this.#lost = lost;
  }

  get sha(): string | null {
    return this.#sha;
  }

  get meta(): Meta {
    return this.#meta;
  }

  /**
   * Publishes the current files and state of the workspace. While the repository does not answer, tries again for as long as
   * the lock holds: nothing runs on top of unpublished work. Throws `LostLoop` if another worker has moved the reference, or
   * the lock is lost.
   */
  async push(change: Partial<Meta>, unreachable: (why: string) => void = () => undefined): Promise<void> {
    const meta: Meta = { ...this.#meta, ...change, at: new Date().toISOString() };
    this.#refuseLost();
    const sha = await makeCheckpoint(this.#ws, meta);
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MOST_WAIT_MS)) {
      this.#refuseLost();
      const outcome = await pushCheckpoint(this.#ws, this.#ref, sha, this.#sha, unreachable);
      if (outcome === 'fenced') throw new LostLoop(WORKER_TEXTS.fenced);
      if (outcome === 'pushed') {
        this.#sha = sha;
        this.#meta = meta;
        return;
      }
      await sleep(wait, undefined, { signal: this.#lost }).catch(() => undefined);
    }
  }

  #refuseLost(): void {
    if (this.#lost.aborted) throw new LostLoop(WORKER_TEXTS.lockLost);
  }
}
