import { withPrefix } from '../../drive/turn/messages.ts';
import { holdingsOf, lossTexts } from '../../drive/worktree/holdings.ts';
import { ignoredFiles, stampOf, stampsOf } from '../../drive/worktree/ignored-files.ts';
import { WORKTREE_TEXTS } from '../../drive/worktree/messages.ts';
import { removeWorktree } from '../../drive/worktree/remove-worktree.ts';
import { changedFiles } from '../../drive/worktree/repository.ts';
import type { WorktreePlace } from '../../drive/worktree/worktree-place.ts';
import { show } from '../../state/process/program.ts';
import { nullIfRefused, RalphError } from '../../text/message.ts';
import type { CommandContext } from '../command.ts';

/** A worktree that this command has set up, until a loop works there. */
export class FreshWorktree {
  readonly #projectDir: string;
  readonly #place: WorktreePlace;
  readonly #context: CommandContext;
  /** Files that set-up and checks have made, as they left them. */
  #ours: Record<string, string>;

  constructor(projectDir: string, place: WorktreePlace, context: CommandContext) {
    this.#projectDir = projectDir;
    this.#place = place;
    this.#context = context;
    const { dir } = place;
    const { changed, removed } = changedFiles(dir, context.env);
    this.#ours = stampsOf(dir, [...changed, ...removed, ...ignoredFiles(dir, context.env)]);
  }

  /** Notes the ignored files that the checks have made. Other files that are new by now may be a person's. */
  noteChecks(): void {
    const { dir } = this.#place;
    const made = nullIfRefused(() => stampsOf(dir, ignoredFiles(dir, this.#context.env)));
    this.#ours = { ...this.#ours, ...made };
  }

  /** Removes the worktree, in which nothing was started. Keeps one that holds what a person may have made there, and says so. */
  drop(): void {
    const { env, now, err } = this.#context;
    const { name, dir, branch } = this.#place;
    const held = holdingsOf({ projectDir: this.#projectDir, place: this.#place, env });
    const isOther = (path: string): boolean => this.#ours[path] !== stampOf(dir, path);
    const [uncommitted, ignored] = [held.uncommitted.filter(isOther), held.ignored.filter(isOther)];
    const lost = lossTexts({ ...held, uncommitted, ignored }, branch);
    try {
      if (lost.length > 0) throw new RalphError('work-lost', WORKTREE_TEXTS.wouldLose(name, lost));
      removeWorktree(this.#projectDir, name, { agreed: lossTexts(held, branch), env, at: now() });
    } catch (error) {
      if (!(error instanceof RalphError)) throw error;
      err(withPrefix(show(error.advised)));
    }
  }
}
