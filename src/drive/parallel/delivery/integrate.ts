import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { reasonText } from '../../../engine/messages.ts';
import type { Delivery } from '../../../engine/schema/batch.ts';
import { filesAtEnd, lossBy, proveContract } from '../../../state/evidence/evidence.ts';
import { findEndedContract } from '../../../state/loop-files.ts';
import { areHooksPinned } from '../../../task/git/git-pins.ts';
import { viewAtEnd } from '../../../task/git/git-view.ts';
import { changedLinks, linkTarget } from '../../../task/git/nested-repositories.ts';
import { RalphError } from '../../../text/message.ts';
import { redact } from '../../../text/redact/redact.ts';
import { describeLoop } from '../../status/loop-report.ts';
import { isSame } from '../../worktree/copy-files.ts';
import { WORKTREE_TEXTS } from '../../worktree/messages.ts';
import { holdingsOf, removeWorktree } from '../../worktree/remove-worktree.ts';
import {
  askGit,
  changedFiles,
  checkedOut,
  FAST_FORWARD,
  type GitRun,
  tipOf,
  unfinishedAt,
  userGit,
} from '../../worktree/repository.ts';
import type { WorktreePlace } from '../../worktree/worktree-place.ts';
import { lossOfRecord, readWorktreeRecord, worktreeLoop, worktreePlace } from '../../worktree/worktree-place.ts';
import type { Integrate } from '../batch.ts';
import { INTEGRATE_TEXTS } from '../messages.ts';
import { type Integrated, openPullRequest, takeBackMove } from './deliver.ts';
import { type CheckedLoop, IntegrationCheckout, type Refused, type Verified } from './integration-checkout.ts';

export interface Integration {
  readonly projectDir: string;
  /** Name of the loop; its branch is `ralph/NAME`. */
  readonly name: string;
  readonly how: Exclude<Integrate, 'none'>;
  /** Body of a pull request. */
  readonly report: string;
  /** URL of the issue that a pull request closes. */
  readonly issue?: string | null;
  /** Loops of this run whose work is on the user's branch. */
  readonly before: readonly { readonly name: string; readonly delivery: Delivery }[];
  /** Delivery begun by a killed process; null if there is none. */
  readonly delivery: Delivery | null;
  /** Records a delivery before the user's branch moves. */
  readonly record: (delivery: Delivery) => void;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly tell: (message: string) => void;
}

/** Maximum number of moves of the user's branch while work is integrated. */
const MOST_TRIES = 5;

/**
 * Delivers the work of a complete loop: merges or rebases it onto the user's current branch, or opens a pull request. Takes a
 * branch only if its worktree has checked it out and the loop's checks pass on its last commit. Joins the two branches in a
 * checkout of its own; the user's branch moves only once the checks of all loops of the run pass there, so that a killed
 * process leaves no failing result on it. Keeps both branches and the worktree until all work is delivered. Can be repeated.
 * Rejects with the abort reason.
 */
export async function integrate(request: Integration): Promise<Integrated> {
  const checkout = new IntegrationCheckout(request);
  try {
    return await new OneIntegration(request, checkout).run();
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    return { message: redact(INTEGRATE_TEXTS.failed(request.name, error.message)), outcome: 'failed' };
  } finally {
    checkout.close();
  }
}

type Ended = Integrated | null;

class OneIntegration {
  readonly #request: Integration;
  readonly #place: WorktreePlace;
  readonly #checkout: IntegrationCheckout;
  /** Ignored files that set-up and checks created in the checkout. */
  #madeByChecks: readonly string[] = [];

  constructor(request: Integration, checkout: IntegrationCheckout) {
    this.#request = request;
    this.#place = worktreePlace(request.projectDir, request.name);
    this.#checkout = checkout;
  }

  async run(): Promise<Integrated> {
    const { projectDir, name, how, env, delivery } = this.#request;
    if (delivery !== null && this.#has(delivery.commit)) return this.#clearAway(delivery);
    const lost = lossOfRecord(projectDir, name, env);
    if (lost !== null) return this.#failed(INTEGRATE_TEXTS.failed(name, lost.text));
    // A removal of the worktree was killed: the files that it deleted are not the agent's changes.
    if (readWorktreeRecord(projectDir, name, env)?.step === 'removing') return this.#clearAway(null);
    if (delivery !== null) takeBackMove(projectDir, delivery, env);
    const misplaced = this.#refuseStand();
    if (misplaced !== null) return misplaced;
    const verified = this.#verified();
    const refused = await this.#commitRest(verified);
    if (refused !== null) return refused;
    const tip = tipOf(projectDir, this.#place.branch, env) ?? '';
    const { base = tip } = readWorktreeRecord(projectDir, name, env) ?? {};
    const linked = this.#linksOf(base, tip);
    if (linked !== null) return linked;
    const red = await this.#checkAt(tip, verified);
    if (red !== null) return red;
    if (this.#has(tip)) {
      if (how === 'pr' || tip === base) return this.#done(INTEGRATE_TEXTS.nothing(name));
      return this.#clearAway(null);
    }
    if (how !== 'pr' && base !== tip && !this.#has(base))
      return this.#failed(INTEGRATE_TEXTS.takenBack(name, base.slice(0, 12), this.#place.branch));
    if (how === 'pr') return openPullRequest(this.#request, this.#place.branch, tip);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const ended = await this.#deliver(tip, how, verified);
      if (ended !== null) return ended;
    }
    return this.#failed(INTEGRATE_TEXTS.moves(name));
  }

  /** Refuses a worktree that is missing, off its branch, in conflict, or has commits in a submodule, which a merge leaves behind. */
  #refuseStand(): Ended {
    const { projectDir, name, env } = this.#request;
    const { dir, branch } = this.#place;
    if (!existsSync(join(dir, '.git'))) return this.#failed(INTEGRATE_TEXTS.noWorktree(name, dir));
    const stands = checkedOut(dir, env);
    if (stands.branch !== branch) {
      const left = WORKTREE_TEXTS.leftBranch(branch, stands.branch, stands.commit);
      return this.#failed(INTEGRATE_TEXTS.left(name, left, dir));
    }
    const listed = userGit(dir, ['diff', '--name-only', '--diff-filter=U', '-z'], env);
    const unmerged = listed.text.split('\0').filter(Boolean);
    if (unmerged.length > 0) return this.#failed(INTEGRATE_TEXTS.unmerged(name, unmerged, dir));
    const { submodules } = holdingsOf({ projectDir, place: this.#place, env });
    return submodules.length === 0 ? null : this.#failed(INTEGRATE_TEXTS.submodules(name, submodules, dir));
  }

  /** Refuses new and changed links to a path of the project, which no other checkout has. */
  #linksOf(base: string, tip: string): Ended {
    const { name, env } = this.#request;
    const { dir } = this.#place;
    const git = (...words: string[]): string => askGit(dir, words, env, 'its links could not be read');
    const linked = changedLinks(git, base, tip).filter(({ path, target }) => linkTarget(dir, path, target) === 'path');
    const paths = linked.map(({ path }) => path);
    return paths.length === 0 ? null : this.#failed(INTEGRATE_TEXTS.links(name, paths));
  }

  /** Commits what the agent left uncommitted, except the loop's own files and copies of what the project has not committed. */
  async #commitRest({ contract }: Verified): Promise<Ended> {
    const { projectDir, name, env } = this.#request;
    const { dir } = this.#place;
    const { changed, removed } = changedFiles(dir, env);
    const uncommitted = new Set(changedFiles(projectDir, env).changed);
    const isCopy = (path: string): boolean => uncommitted.has(path) && isSame(join(projectDir, path), join(dir, path));
    const paths = [...changed, ...removed].filter(
      (path) => !/^\.(?:claude|ralph)\/|\/\.ralph-runner\//.test(path) && !isCopy(path),
    );
    if (paths.length === 0) return null;
    const view = viewAtEnd(worktreeLoop(projectDir, name, env), contract);
    if (!(await areHooksPinned(this.#place.projectDir, { env, view })))
      return this.#failed(INTEGRATE_TEXTS.hooks(name));
    // git does not know a path whose deletion is staged, as by `git mv`, and refuses to add it.
    const known = ['diff', '--cached', '--name-only', '--no-renames', '--diff-filter=D', '--relative', '-z'];
    const staged = new Set(userGit(dir, known, env).text.split('\0'));
    const isThere = (path: string): boolean => lstatSync(join(dir, path), { throwIfNoEntry: false }) !== undefined;
    const toAdd = paths.filter((path) => !staged.has(path) || isThere(path)).map((path) => `:(literal)${path}`);
    const commit = (): GitRun => {
      const added = toAdd.length === 0 ? null : userGit(dir, ['add', '--all', '--', ...toAdd], env);
      const words = ['commit', '--quiet', '-m', `feat: work of the loop ${name}`];
      return added?.ok === false ? added : userGit(dir, words, env);
    };
    let committed = commit();
    // A hook that fixes files rejects the commit, and expects it again with what it changed.
    if (!committed.ok && !userGit(dir, ['diff-files', '--quiet'], env).ok) committed = commit();
    return committed.ok ? null : this.#failed(INTEGRATE_TEXTS.uncommitted(name, dir, committed.complaint));
  }

  /** Returns the terms of the loop's verification. Throws `contract-missing` if they are unknown. */
  #verified(): Verified & { readonly loopId: string } {
    const { projectDir, name, env } = this.#request;
    const files = worktreeLoop(projectDir, name, env);
    const { live, lastState } = describeLoop(files, env);
    if (lastState === null) throw new RalphError('contract-missing', INTEGRATE_TEXTS.noLoop);
    if (live !== null || lastState.status !== 'ended' || lastState.ended.as !== 'complete')
      throw new RalphError('refused', INTEGRATE_TEXTS.later);
    const { loopId } = lastState;
    const { setUp = null, copies = [] } = readWorktreeRecord(projectDir, name, env) ?? {};
    return { ...termsOf(projectDir, { name, loopId, setUp, copies }, env), loopId };
  }

  async #checkAt(commit: string, verified: Verified): Promise<Ended> {
    if (!hasChecks(verified)) return null;
    this.#checkout.open(commit);
    const red = redOf(await this.#checkout.check([verified]));
    this.#madeByChecks = this.#checkout.made();
    if (red.length === 0) return null;
    return this.#failed(INTEGRATE_TEXTS.red(this.#request.name, this.#place.branch, commit.slice(0, 12), red));
  }

  /** Joins the loop's branch with the user's and delivers the result. Returns null if the user's branch has moved meanwhile. */
  async #deliver(tip: string, how: Delivery['how'], verified: Verified & { readonly loopId: string }): Promise<Ended> {
    const { projectDir, name, before, env, record } = this.#request;
    const { branch } = this.#place;
    const blocked = this.#obstacle();
    if (blocked !== null) return this.#failed(blocked);
    const from = checkedOut(projectDir, env);
    this.#checkout.open(how === 'merge' ? from.commit : tip);
    const commit =
      how === 'merge' ? this.#checkout.merge(tip, `Merge branch '${branch}'`) : this.#checkout.rebase(from.commit);
    if (typeof commit !== 'string') return this.#refusedBy(commit);
    if (commit !== tip || before.length > 0) {
      const others = before.map(({ name: other, delivery }) => termsOf(projectDir, { ...delivery, name: other }, env));
      const red = redOf(await this.#checkout.check([verified, ...others]));
      if (red.length > 0) return this.#failed(INTEGRATE_TEXTS.redTogether(name, branch, red));
    }
    const stands = checkedOut(projectDir, env);
    if (stands.commit !== from.commit || stands.branch !== from.branch) return null;
    const { loopId, setUp, copies } = verified;
    const delivery: Delivery = { loopId, setUp, copies: [...copies], how, tip, from: from.commit, commit };
    record(delivery);
    // git changes nothing if a file of the user is in the way.
    const moved = userGit(projectDir, [...FAST_FORWARD, commit], env);
    return moved.ok ? this.#clearAway(delivery) : this.#failed(INTEGRATE_TEXTS.failed(name, moved.complaint));
  }

  /** Returns why nothing can be integrated into the project now; null if it can. */
  #obstacle(): string | null {
    const { projectDir, env } = this.#request;
    const { changed, removed } = changedFiles(projectDir, env);
    const own = changed.filter((path) => !path.startsWith('.claude/') && !path.startsWith('.ralph/'));
    const unfinished = unfinishedAt(projectDir, env);
    if (unfinished !== null) return INTEGRATE_TEXTS.unfinished(unfinished);
    if (own.length + removed.length > 0) return INTEGRATE_TEXTS.dirty(own.length + removed.length);
    return checkedOut(projectDir, env).branch === null ? INTEGRATE_TEXTS.detached : null;
  }

  #refusedBy({ files, complaint }: Refused): Integrated {
    const { name } = this.#request;
    if (files.length === 0) return this.#failed(INTEGRATE_TEXTS.failed(name, complaint));
    return this.#failed(INTEGRATE_TEXTS.conflict(name, this.#place.branch, files));
  }

  /** Removes the worktree of delivered work, unless it holds other work. */
  #clearAway(delivery: Delivery | null): Integrated {
    const { projectDir, name, env } = this.#request;
    const { branch } = this.#place;
    // The user may have switched to another branch while the loops ran.
    const onto = checkedOut(projectDir, env).branch ?? 'HEAD';
    const said = delivery?.how === 'merge' ? INTEGRATE_TEXTS.merged : INTEGRATE_TEXTS.rebased;
    const text = delivery === null ? INTEGRATE_TEXTS.already(name) : said(name, branch, onto);
    const at = new Date().toISOString();
    try {
      const delivered = delivery === null ? {} : { delivered: delivery.tip };
      removeWorktree(projectDir, name, { ...delivered, madeByChecks: this.#madeByChecks, env, at });
    } catch (error) {
      // `no-loop`: a killed process had already removed the worktree.
      if (!(error instanceof RalphError) || !['work-lost', 'no-loop'].includes(error.code)) throw error;
      if (error.code === 'work-lost') return this.#done(INTEGRATE_TEXTS.kept(text, error.message));
    }
    return this.#done(text);
  }

  #has(commit: string): boolean {
    const { projectDir, env } = this.#request;
    return userGit(projectDir, ['merge-base', '--is-ancestor', commit, 'HEAD'], env).ok;
  }

  #done(message: string): Integrated {
    return { message, outcome: 'done' };
  }

  #failed(message: string): Integrated {
    // The message quotes checks and git hooks.
    return { message: redact(message), outcome: 'failed' };
  }
}

/** Reads the terms under which a loop was verified. Throws `contract-missing` if they are lost. */
function termsOf(
  projectDir: string,
  { name, loopId, setUp, copies }: Omit<Verified, 'contract'> & { readonly loopId: string },
  env: NodeJS.ProcessEnv,
): Verified {
  const files = worktreeLoop(projectDir, name, env);
  const stored = findEndedContract(files, loopId);
  if (stored === null || lossBy(() => proveContract(filesAtEnd(files))) !== null)
    throw new RalphError('contract-missing', INTEGRATE_TEXTS.noContract(name, `${files.contract}.ended`));
  return { name, contract: stored.contract, setUp, copies };
}

function hasChecks({ contract: { validation, task } }: Verified): boolean {
  return validation.length > 0 || (task?.commands ?? []).some(({ acceptance }) => acceptance);
}

function redOf(checked: readonly CheckedLoop[]): string[] {
  return checked.flatMap(({ name, failed }) => failed.map((result) => `${name}: ${reasonText(result)}`));
}
