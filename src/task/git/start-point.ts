import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { type EvidenceOf, evidenceLost, isWhole, readEvidenceRecord } from '../../state/evidence/evidence.ts';
import { forgetEvidence, storeEvidence } from '../../state/evidence/store-evidence.ts';
import { APPEND_HERE } from '../../state/files/journal-lines.ts';
import { readRegularFile, removeIfThere, withDescriptor } from '../../state/files/regular-file.ts';
import { contractOfLoop, type LoopFiles } from '../../state/loop-files.ts';
import { callHere } from '../../state/process/program.ts';
import { shellWord } from '../../text/quote.ts';
import { WITHOUT_OWN } from '../left-out.ts';
import { repositoryRoot } from '../project-file.ts';
import { mainProjectOf } from '../task-file.ts';
import { askPinned, besidesPinned, readGitPins } from './git-pins.ts';
import { storeGitView } from './git-view.ts';
import { type Repository, readRepository } from './read-repository.ts';
import type { Place, RecordedTree } from './record-tree.ts';
import { AROUND, aroundIn, git, hidesFiles, must, recordHead, recordTree, refOf } from './record-tree.ts';
import { type GitOptions, type GitPins, partsOf, runGit } from './run-git.ts';

/** State of the repository when a loop began, used to return to it. */
export interface StartPoint {
  /** Id of the loop that begins here; part of the reference that keeps the tree. */
  readonly loopId: string;
  readonly tree: RecordedTree;
  /** Settings of git at the start, stored in a separate file; null if git did not answer. */
  readonly pins?: GitPins | null;
}

const COMMIT = /^[0-9a-f]{40,64}$/;

/**
 * Reads the start point, with the project's files, including untracked ones, in a tree of its own; leaves working tree, index and
 * stash unchanged. Returns a sentence with the reason if there is none. Rejects with the abort reason, or if git refuses.
 */
export async function readStartPoint(
  projectDir: string,
  options: GitOptions,
): Promise<(Pick<Repository, 'changed' | 'unfinished'> & { readonly point: StartPoint }) | string> {
  const place: Place = { projectDir, env: options.env, sandbox: undefined };
  const asked = askPinned(projectDir, options, AROUND);
  const placed = asked.then((found) => (found.kind === 'answer' ? aroundIn(place, besidesPinned(found.text)) : null));
  const root = repositoryRoot(projectDir) ?? projectDir;
  const [repository, pins, around, mayHide] = await Promise.all([
    readRepository(projectDir, options, placed),
    readGitPins(projectDir, options, asked).catch(() => null),
    placed,
    // If git does not answer, it is asked again.
    hidesFiles(place, root).catch(() => true),
  ]);
  if (typeof repository === 'string') return repository;
  if (repository.head === null) return 'the repository has no commit yet. Commit its files first.';
  if (around === null) return 'git did not say where the project stands in its repository.';
  const loopId = `loop-${randomUUID()}`;
  const ref = refOf(loopId, 'start');
  const hidesNone = !(root === around.top ? mayHide : await hidesFiles(around, around.top));
  const known = { isHead: repository.isIndexHead, hidesNone };
  const tree =
    repository.isClean && hidesNone
      ? await recordHead(around, ref)
      : await recordTree(around, ref, 'Before the start of a loop', known);
  return { point: { loopId, tree, pins }, changed: repository.changed, unfinished: repository.unfinished };
}

const NAMES_AS_THEY_ARE = [['core.quotePath', 'false']] as const;
const PLAIN = ['--no-ext-diff', '--no-textconv', '--no-renames', '--relative'];

export interface Changes {
  readonly stat: readonly string[];
  readonly newFiles: readonly string[];
}

/**
 * Compares the files at the end of a loop with those of its start, as commits, so that no filter runs; null if git does not
 * answer. `committed`: git has committed everything that the loop changed; null if nothing changed, or if git does not say.
 */
export async function changesBetween(
  projectDir: string,
  start: RecordedTree,
  end: RecordedTree,
  options: GitOptions,
): Promise<{ readonly changes: Changes; readonly committed: boolean | null } | null> {
  const ask = async (from: string, ...words: string[]): Promise<string | null> => {
    const between = [from, end.commit, '--', '.', ...WITHOUT_OWN];
    const answer = await runGit(projectDir, ['diff', ...PLAIN, ...words, ...between], options, NAMES_AS_THEY_ARE);
    return answer.kind === 'answer' ? answer.text : null;
  };
  const found = await ask(start.commit, '-z', '--name-status');
  if (found === null) return null;
  const parts = partsOf(found);
  const changed = parts.filter((_, at) => at % 2 === 1);
  const newFiles = changed.filter((_, at) => parts[2 * at] === 'A');
  const hasOld = newFiles.length < changed.length;
  const stat = hasOld ? await ask(start.commit, '--stat=72', '--diff-filter=a') : '';
  const left = changed.length > 0 ? await ask(end.head, '-z', '--name-only') : null;
  if (stat === null) return null;
  const uncommitted = new Set(partsOf(left ?? ''));
  return {
    changes: { stat: stat.split('\n').filter((line) => line !== ''), newFiles },
    committed: left === null ? null : !changed.some((name) => uncommitted.has(name)),
  };
}

/** Returns how the user calls git for a project, which is named if it is a worktree or if the user is outside it. */
export function gitIn(projectDir: string): string {
  return mainProjectOf(projectDir) === null && callHere().elsewhere?.isFound !== false
    ? 'git'
    : `git -C ${shellWord(projectDir)}`;
}

/** Stores the start point of a new loop, before its contract; null if there is none. */
export function writeStartPoint(files: LoopFiles, loopId: string, start: StartPoint | null): void {
  const { pins = null, ...point } = start ?? {};
  storeGitView(files, loopId, pins, null);
  if (start === null) {
    forgetStartPoint(files, loopId);
    return;
  }
  storeEvidence(files, loopId, 'startPoint', JSON.stringify(point));
  withDescriptor(recordedIn(files), APPEND_HERE, 0o600, (descriptor) => writeSync(descriptor, `${loopId}\n`));
}

/** Returns the file with the ids of the loops of this name whose start git has recorded, one per line, oldest first. */
const recordedIn = ({ startPoint }: LoopFiles): string => `${startPoint}s`;

/** Returns whether a loop of these files recorded something in git under this id. An archived state cannot tell: the agent can write it. */
export function hasRecorded(files: LoopFiles, loopId: string): boolean {
  const known = readRegularFile(recordedIn(files)) ?? '';
  return known.split('\n').includes(loopId) || contractOfLoop(files, loopId) !== null;
}

function forgetStartPoint(files: LoopFiles, loopId: string): void {
  forgetEvidence(files, loopId, 'startPoint');
  removeIfThere(files.startPoint);
}

/** Forgets the lost start point of a resumed loop, which begins again from the present state: it has no undo. */
export function dropLostStartPoint(files: LoopFiles, contract: EvidenceOf): void {
  if (!isWhole(files, contract, 'startPoint')) forgetStartPoint(files, contract.loopId);
}

/** Returns the start point of a loop, also of an ended one; null if it has none. Throws `evidence-lost`. */
export function startPointOf(files: LoopFiles, contract: EvidenceOf): StartPoint | null {
  const found = readEvidenceRecord<StartPoint>(files, contract, 'startPoint');
  if (found === null) return null;
  if (found.loopId !== contract.loopId) throw evidenceLost(files.startPoint, 'foreign');
  const { commit, head, index } = found.tree ?? {};
  // During a merge with conflicts, the index has no tree.
  if (![commit, head, index ?? head].every((name) => COMMIT.test(String(name))))
    throw evidenceLost(files.startPoint, 'torn');
  return found as StartPoint;
}

/** Removes the commits recorded for loops, which git then deletes in its own time. Throws `refused` if git refuses. */
export async function removeRecorded(place: Place, loopIds: readonly string[]): Promise<void> {
  const refs = await recordedRefs(place, loopIds);
  const input = refs.map((ref) => `delete ${ref}\n`).join('');
  if (input !== '') must(await git(place, ['update-ref', '--stdin'], { input }));
}

/** Lists the references of loops. Throws `refused` if git refuses. */
export async function recordedRefs(place: Place, loopIds: readonly string[]): Promise<string[]> {
  if (loopIds.length === 0) return [];
  const folders = loopIds.map((id) => refOf(id, ''));
  return must(await git(place, ['for-each-ref', '--format=%(refname)', ...folders]))
    .split('\n')
    .filter(Boolean);
}
