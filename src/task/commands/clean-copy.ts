import { randomUUID } from 'node:crypto';
import {
  constants,
  copyFileSync,
  cpSync,
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
import { namesIn, readRegularFile } from '../../state/files/regular-file.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { orElse } from '../../text/or-else.ts';
import { copyGitView, filesUnderPins } from '../git/git-view.ts';
import { type GitOptions, partsOf, runGit } from '../git/run-git.ts';
import { isWithin } from '../project-file.ts';
import { withDeciding } from './deciding-environment.ts';
import { runSetUp } from './run-set-up.ts';
import { gateEnvironment } from './shell.ts';

interface CopyRequest {
  readonly contract: Pick<Contract, 'environment' | 'verifyIn' | 'sandbox'>;
  readonly projectDir: string;
  /** Folder outside the project for all copies. */
  readonly root: string;
  readonly options: GitOptions & { readonly signal: AbortSignal };
  /** Time limit of the set-up. */
  readonly timeoutMs: number;
}

export interface CleanCopy {
  /** Returns the path in the copy of a folder of the project. */
  readonly runIn: (directory: string) => string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Root of the copied working tree. */
  readonly top: string;
  readonly spentMs: number;
  readonly remove: () => void;
}

/**
 * Creates and sets up a copy of the project without ignored files, except `worktree_copy`. Returns the copy, or why it could
 * not be created. Removes copies of killed processes. Rejects with the abort's reason, and leaves no copy behind.
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
    const top = await copyProject(request, join(home, 'copy'));
    if (top === null) {
      remove();
      return 'verify_in: worktree needs a git repository with a commit, and git did not list its files.';
    }
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
    return { runIn, env, top: join(home, 'copy'), spentMs: performance.now() - began, remove };
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
    // A copy whose process was killed before recording its owner is unused.
    const isUsed = orElse(() => isAlive(JSON.parse(readRegularFile(join(path, OWNER), 1024) ?? '')), false);
    if (!isUsed) rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Copies the project and returns the root of its working tree; null if git does not answer. */
async function copyProject({ contract, projectDir, options }: CopyRequest, to: string): Promise<string | null> {
  const places = await runGit(projectDir, ['rev-parse', '--show-toplevel', '--verify', 'HEAD^{commit}'], options);
  if (places.kind !== 'answer') return null;
  const [shown = '', head = ''] = places.text.trim().split('\n');
  const top = realpathSync(shown);
  const listed = await filesUnderPins(projectDir, head, options);
  if (listed === null) return null;
  const ignored: string[] = [];
  const globs = (contract.verifyIn?.copy ?? []).map((glob) => `:(glob)${glob}`);
  if (globs.length > 0) {
    const words = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--full-name', '--', ...globs];
    const answer = await runGit(projectDir, words, options);
    if (answer.kind !== 'answer') return null;
    ignored.push(...partsOf(answer.text));
  }
  mkdirSync(join(to, relative(top, realpathSync(projectDir))), { recursive: true });
  for (const path of [...listed, ...ignored]) {
    options.signal.throwIfAborted();
    copyEntry(join(top, path), join(to, path));
  }
  if (options.view) {
    const refs = await runGit(projectDir, ['for-each-ref', '--format=%(objectname) %(refname)'], options);
    copyGitView(options.view, join(to, '.git'), head, refs.kind === 'answer' ? refs.text : '');
  }
  return top;
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

/** Returns an environment in which the project's programs are those of the copy. */
function environmentIn(
  env: Readonly<Record<string, string | undefined>>,
  { projectDir, runIn }: Pick<CleanCopy, 'runIn'> & { readonly projectDir: string },
): Readonly<Record<string, string | undefined>> {
  const folders = (env['PATH'] ?? '').split(delimiter).map((folder) => {
    return folder !== '' && isWithin(projectDir, folder)
      ? join(runIn(projectDir), relative(projectDir, folder))
      : folder;
  });
  return { ...env, PATH: folders.join(delimiter), RALPH_MAIN_PROJECT: projectDir };
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
