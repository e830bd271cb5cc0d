import { randomUUID } from 'node:crypto';
import {
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import type { Contract } from '../../engine/schema/contract.ts';
import { gateEnvironment } from '../../sandbox/environment.ts';
import { namesIn, readRecord } from '../../state/files/regular-file.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { copyGitView } from '../git/git-view.ts';
import { checkOut, filesUnderPins, ignoredFiles, ignoredUnderPins } from '../git/list-files.ts';
import { askPlaces, type GitOptions, placesIn, runGit, withoutPlace } from '../git/run-git.ts';
import { isWithin } from '../project-file.ts';
import { mainProjectOf } from '../task-file.ts';
import { withDeciding } from './deciding-environment.ts';
import { isDependency, linkDependencies } from './installed-dependencies.ts';
import { runSetUp } from './run-command.ts';

interface CopyRequest {
  readonly contract: Pick<Contract, 'environment' | 'verifyIn' | 'sandbox'>;
  readonly projectDir: string;
  /** Commit whose files are copied; absent: the files of the working tree, without those that git ignores. */
  readonly commit?: string;
  /** Folder for all copies, outside the project. */
  readonly root: string;
  readonly options: GitOptions & { readonly signal: AbortSignal };
  /** Time limit of the set-up. */
  readonly timeoutMs: number;
}

export interface CleanCopy {
  /** Returns the path in the copy for a folder of the project. */
  readonly runIn: (directory: string) => string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Root of the copied working tree. */
  readonly top: string;
  readonly spentMs: number;
  /** Ignored files and folders that the copy lacks, relative to the root. */
  readonly lacks: readonly string[];
  readonly remove: () => void;
}

/**
 * Creates and sets up a copy of the project, or of a commit. Of the ignored files, it contains only `worktree_copy` and, unless
 * `worktree_setup` installs them, the dependencies. Returns the copy, or why it could not be created. Removes copies of killed
 * processes. Rejects with the abort reason, and then leaves no copy behind.
 */
export async function makeCleanCopy(request: CopyRequest): Promise<CleanCopy | string> {
  const { contract, projectDir, root, options } = request;
  sweepCopies(root);
  const home = join(root, randomUUID());
  const remove = (): void => rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(join(home, OWNER), JSON.stringify(identityOf(process.pid)));
  try {
    const began = performance.now();
    const copied = await copyProject(request, join(home, 'copy'));
    if (copied === null) {
      remove();
      return 'checks on a clean copy need a git repository with a commit, and git did not list its files.';
    }
    const { top, lacks } = copied;
    const runIn = (directory: string): string => join(home, 'copy', relative(top, realpathSync(directory)));
    const env = environmentIn(contract.environment ? withDeciding(options.env, contract.environment) : options.env, {
      projectDir,
      runIn,
    });
    const problem = await setUp(request, runIn(projectDir), env, join(home, 'copy'));
    if (problem !== null) {
      remove();
      return problem;
    }
    return { runIn, env, top: join(home, 'copy'), spentMs: performance.now() - began, lacks, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

const OWNER = 'owner.json';

/** Removes copies whose process has ended. */
function sweepCopies(root: string): void {
  for (const name of namesIn(root)) {
    const path = join(root, name);
    // A copy whose process was killed before it recorded its ownership is unused.
    const owner = readRecord<Parameters<typeof isAlive>[0]>(join(path, OWNER));
    const isUsed = typeof owner?.pid === 'number' && isAlive({ pid: owner.pid, startedAt: owner.startedAt ?? null });
    if (!isUsed) rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Copies the project or the commit, and returns the root of its working tree; null if git does not answer. */
async function copyProject(request: CopyRequest, to: string) {
  const { contract, projectDir, commit, options } = request;
  const places = await runGit(projectDir, askPlaces(['--show-toplevel'], ['HEAD^{commit}']), options);
  if (places.kind !== 'answer') return null;
  const [shown = '', head = ''] = placesIn(places.text);
  const top = realpathSync(shown);
  mkdirSync(join(to, relative(top, realpathSync(projectDir))), { recursive: true });
  // Asked first: it proves the index that the copy gets.
  const standing = commit === undefined ? await filesUnderPins(projectDir, head, options) : null;
  if (options.view) {
    const refs = await runGit(projectDir, ['for-each-ref', '--format=%(objectname) %(refname)'], options);
    copyGitView(options.view, join(to, '.git'), commit ?? head, refs.kind === 'answer' ? refs.text : '');
  }
  const listed = commit === undefined ? standing : await checkOut(to, commit, top, options);
  const ignored = await ignoredUnderPins(projectDir, head, options);
  const named = await ignoredFiles(projectDir, contract.verifyIn?.copy ?? [], options);
  if (listed === null || ignored === null || named === null) return null;
  for (const path of [...listed, ...named]) {
    options.signal.throwIfAborted();
    copyEntry(join(top, path), join(to, path));
  }
  if (contract.verifyIn?.setup === null) await copyDependencies(request, top, to, ignored);
  return { top, lacks: ignored.filter((path) => !existsSync(join(to, path))) };
}

/** Copies installed dependencies: those of the project and, for a worktree, those found above it in its main project. */
async function copyDependencies(
  { projectDir, options }: CopyRequest,
  top: string,
  to: string,
  ignored: readonly string[],
): Promise<void> {
  const link = async (root: string, paths: readonly string[]): Promise<void> => {
    for (const path of paths.filter((each) => isDependency(to, each))) {
      if (!existsSync(join(to, path))) await linkDependencies(root, to, path, options.signal);
    }
  };
  await link(top, ignored);
  const main = mainProjectOf(projectDir);
  if (main === null) return;
  const outer = { ...options, view: null };
  const places = await runGit(main, askPlaces(['--show-toplevel'], ['HEAD']), outer);
  if (places.kind !== 'answer') return;
  const [root = '', head = ''] = placesIn(places.text);
  await link(realpathSync(root), (await ignoredUnderPins(main, head, outer)) ?? []);
}

function copyEntry(from: string, to: string): void {
  const stat = lstatSync(from, { throwIfNoEntry: false });
  if (stat === undefined) return;
  mkdirSync(dirname(to), { recursive: true });
  if (stat.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else if (stat.isFile()) copyFileSync(from, to, constants.COPYFILE_FICLONE);
  // For a submodule, git lists only the folder.
  else if (stat.isDirectory()) cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}

/** Returns an environment in which the project's programs are those of the copy, and git stays in the copy. */
function environmentIn(
  env: Readonly<Record<string, string | undefined>>,
  { projectDir, runIn }: Pick<CleanCopy, 'runIn'> & { readonly projectDir: string },
): Readonly<Record<string, string | undefined>> {
  const folders = (env['PATH'] ?? '').split(delimiter).map((folder) => {
    return folder !== '' && isWithin(projectDir, folder)
      ? join(runIn(projectDir), relative(projectDir, folder))
      : folder;
  });
  return { ...withoutPlace(env), PATH: folders.join(delimiter), RALPH_MAIN_PROJECT: projectDir };
}

async function setUp(
  { contract, options, timeoutMs }: CopyRequest,
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
  writable: string,
): Promise<string | null> {
  const run = contract.verifyIn?.setup ?? null;
  if (run === null) return null;
  const { sandbox } = contract;
  const limit = { ms: timeoutMs, exceeded: 'not done within the time of the first check' };
  const terms = { sandbox, env: gateEnvironment(env), signal: options.signal, limit, writable };
  const failed = await runSetUp(run, directory, terms);
  return failed && `worktree_setup failed in the clean copy: ${failed.how}.\n${failed.output}`;
}
