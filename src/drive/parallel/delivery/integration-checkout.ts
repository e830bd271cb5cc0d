import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../../engine/events.ts';
import type { Contract } from '../../../engine/schema/contract.ts';
import { runProofs } from '../../../task/commands/gate.ts';
import { WORKTREES } from '../../../task/task-file.ts';
import { commandGuard } from '../../control/command-guard.ts';
import { copyTask, ignoredFiles } from '../../worktree/copy-files.ts';
import { furnish } from '../../worktree/make-worktree.ts';
import { removeFiles } from '../../worktree/remove-worktree.ts';
import { askGit, checkedOut, type GitRun, isRegistered, repositoryOf, userGit } from '../../worktree/repository.ts';
import { INTEGRATE_TEXTS } from '../messages.ts';

/** Terms under which the work of a loop was verified, to the extent that another checkout needs them. */
export interface Verified {
  readonly name: string;
  readonly contract: Contract;
  readonly setUp: string | null;
  readonly copies: readonly string[];
}

export interface CheckedLoop {
  readonly name: string;
  /** Results that are not ok, including a failed set-up. */
  readonly failed: readonly CheckResult[];
}

/** Reason why git did not join a branch: the files in conflict; without any, git's error message, such as that of a hook. */
export interface Refused {
  readonly files: readonly string[];
  readonly complaint: string;
}

interface CheckoutOptions {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly tell: (message: string) => void;
}

/**
 * Checkout beside the loops' worktrees, in which commits are checked and branches joined before the user's branch moves. It is
 * created again for each commit, so that it contains nothing of an agent or of an earlier check.
 */
export class IntegrationCheckout {
  readonly #options: CheckoutOptions;
  readonly #dir: string;
  readonly #projectDir: string;

  constructor(options: CheckoutOptions) {
    this.#options = options;
    const { projectDir, env } = options;
    // No loop can have this name.
    this.#dir = join(projectDir, WORKTREES, '.integration');
    this.#projectDir = join(this.#dir, repositoryOf(projectDir, env).prefix);
  }

  /** Checks out a commit. Throws `refused` with git's error. */
  open(commit: string): void {
    const { projectDir, env } = this.#options;
    this.close();
    const words = ['worktree', 'add', '--quiet', '--detach', this.#dir, commit];
    askGit(projectDir, words, env, `${commit.slice(0, 12)} could not be checked out`);
  }

  /** Removes the checkout, even one left by a killed process. */
  close(): void {
    const { projectDir, env } = this.#options;
    if (existsSync(this.#dir) || isRegistered(projectDir, this.#dir, env)) removeFiles(projectDir, this.#dir, env);
  }

  /**
   * Merges a commit into the one that is checked out, regardless of the user's `merge.ff`. Returns the result, or why git
   * refused.
   */
  merge(commit: string, message: string): string | Refused {
    return this.#joined(this.#git(['merge', '--ff', '-m', message, '--quiet', commit]));
  }

  /**
   * Rebases the checked-out commit onto another one. Moves no branch, whatever the user's `rebase.updateRefs` says. Returns the
   * result, or why git refused.
   */
  rebase(onto: string): string | Refused {
    return this.#joined(this.#git(['-c', 'rebase.updateRefs=false', 'rebase', '--quiet', onto]));
  }

  /**
   * Sets the checkout up and runs the commands that verified these loops. Equal commands run once. Rejects with the abort
   * reason.
   */
  async check(loops: readonly Verified[]): Promise<CheckedLoop[]> {
    const { projectDir, env, signal, tell } = this.#options;
    const done = new Map<string, CheckedLoop['failed']>();
    const checked: CheckedLoop[] = [];
    for (const { name, contract, setUp, copies } of loops) {
      const key = JSON.stringify([setUp, copies, ...TERMS.map((term) => contract[term])]);
      const known = contract.task === null ? done.get(key) : undefined;
      const own = { projectDir, command: setUp, copies, sandbox: contract.sandbox, env, signal };
      // Its notices concern a worktree without an agent.
      const unfit = known === undefined ? await furnish(this.#place, { ...own, tell: () => undefined }) : null;
      if (unfit !== null) {
        const detail = `${unfit.how}.\n${unfit.output}`;
        checked.push({ name, failed: [{ name: 'worktree_setup', outcome: 'failed', detail }] });
        continue;
      }
      copyTask(projectDir, this.#projectDir, contract.taskPath, env, { onlyMissing: true });
      const failed = known ?? (await this.#run(contract, (check) => tell(INTEGRATE_TEXTS.checking(name, check))));
      done.set(key, failed);
      checked.push({ name, failed });
    }
    return checked;
  }

  /** Lists the ignored files that set-up and checks created, relative to the root of the work tree. */
  made(): string[] {
    return ignoredFiles(this.#dir, this.#options.env);
  }

  get #place() {
    return { dir: this.#dir, projectDir: this.#projectDir };
  }

  async #run(contract: Contract, onCheck: (name: string) => void): Promise<CheckResult[]> {
    const { env, signal } = this.#options;
    const options = { signal, env, iteration: 1, blockingRule: commandGuard(contract), onCheck };
    const results = await runProofs(contract, this.#projectDir, options);
    return results.filter(({ outcome }) => outcome !== 'ok');
  }

  #joined({ ok, complaint }: GitRun): string | Refused {
    if (!ok) return { files: this.#unmerged(), complaint };
    return checkedOut(this.#dir, this.#options.env).commit;
  }

  #unmerged(): readonly string[] {
    const listed = this.#git(['diff', '--name-only', '--diff-filter=U', '-z']);
    return listed.text.split('\0').filter((path) => path !== '');
  }

  #git(words: readonly string[]): GitRun {
    return userGit(this.#dir, words, this.#options.env);
  }
}

/** Terms of a contract that affect the results of its commands. */
const TERMS = ['validation', 'scripts', 'programs', 'environment', 'sandbox', 'guardrails'] as const;
