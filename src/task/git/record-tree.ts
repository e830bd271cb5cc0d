import { copyFileSync, existsSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Sandbox } from '../../engine/schema/contract.ts';
import { confine } from '../../sandbox/bubblewrap.ts';
import { onPath } from '../../state/process/find-program.ts';
import { runToEnd } from '../../state/process/run-to-end.ts';
import { NO_FILE, withoutPlace } from './run-git.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Files of a project at one moment, as commits that the repository keeps under a reference. */
export interface RecordedTree {
  /** Commit whose tree has the files of the work tree, untracked ones included and ignored ones not. */
  readonly commit: string;
  /** Commit whose tree is the index; null while a merge has conflicts. */
  readonly index: string | null;
  readonly head: string;
  /** Full name of the checked-out branch; null for a detached HEAD. */
  readonly branch: string | null;
}

/** Repository around a project. `prefix` is the project's path in it, empty or with a slash at the end. */
export interface Around extends Place {
  readonly top: string;
  readonly gitDir: string;
  readonly prefix: string;
  readonly indexFile: string;
  readonly head: string;
  readonly branch: string | null;
}

/** Where git runs. `sandbox` confines it: the agent may have named a program in the repository's settings. */
interface Place {
  readonly projectDir: string;
  readonly env: Env;
  readonly sandbox: Sandbox | undefined;
  readonly top?: string;
  readonly gitDir?: string;
}

/** Reference of a loop: `start`, `end`, `now`, and `undone-N` for the state before each undo. */
export const refOf = (loopId: string, name: string): string => `refs/ralph-loop/${loopId}/${name}`;

const IDENTITY = {
  GIT_AUTHOR_NAME: 'ralph-loop',
  GIT_AUTHOR_EMAIL: 'ralph-loop@localhost',
  GIT_COMMITTER_NAME: 'ralph-loop',
  GIT_COMMITTER_EMAIL: 'ralph-loop@localhost',
};
const QUIET = [
  'core.fsmonitor=false',
  `core.hooksPath=${NO_FILE}`,
  'advice.addEmbeddedRepo=false',
  'core.quotePath=false',
];
const SETTINGS = QUIET.flatMap((setting) => ['-c', setting]);
const TIME_MS = 120_000;
const MOST_OUTPUT = 256 * 1024 * 1024;

export interface Answer {
  readonly ok: boolean;
  readonly text: string;
  readonly complaint: string;
}

/** Runs git in the project without the repository's hooks. `index` takes the place of the repository's own index. */
export async function git(
  { projectDir, env, sandbox: terms, top = projectDir, gitDir = join(projectDir, '.git') }: Place,
  words: readonly string[],
  {
    index,
    input = '',
    at = projectDir,
  }: { readonly index?: string; readonly input?: string | Buffer; readonly at?: string } = {},
): Promise<Answer> {
  const program = onPath('git', env);
  if (program === null) return { ok: false, text: '', complaint: 'git was not found on the PATH.' };
  const own = { ...withoutPlace(env), ...IDENTITY, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' };
  const call = confine(terms && { terms, writable: top, readable: top, gitDir }, {
    program,
    words: [...SETTINGS, ...words],
    directory: at,
    env: index === undefined ? own : { ...own, GIT_INDEX_FILE: index },
  });
  const run = { cwd: at, env: call.env, input, timeMs: TIME_MS, mostOutput: MOST_OUTPUT };
  const { code, output, complaint } = await runToEnd(call.program, call.words, run);
  return { ok: code === 0, text: output.toString('latin1'), complaint };
}

/** Reads where the project stands in its repository; null outside a repository and before its first commit. */
export async function repositoryAround(projectDir: string, env: Env, sandbox?: Sandbox): Promise<Around | null> {
  const place: Place = { projectDir, env, sandbox };
  const places = [
    '--show-toplevel',
    '--show-prefix',
    '--absolute-git-dir',
    '--git-path',
    'index',
    '--verify',
    'HEAD^{commit}',
  ];
  const found = await git(place, ['rev-parse', ...places]);
  if (!found.ok) return null;
  const [top = '', prefix = '', gitDir = '', index = '', head = ''] = Buffer.from(found.text, 'latin1')
    .toString()
    .split('\n');
  const branch = await git(place, ['symbolic-ref', '--quiet', 'HEAD']);
  const name = branch.ok ? branch.text.trim() : null;
  return { ...place, top, prefix, gitDir, indexFile: resolve(projectDir, index), head, branch: name };
}

/**
 * Records the project's files and the index under a reference. Leaves work tree, index, stash and branches as they are. `also`
 * are paths, from the top of the repository, that are recorded even if they are ignored. Throws if git refuses.
 */
export async function recordTree(
  around: Around,
  ref: string,
  message: string,
  also: readonly string[] = [],
): Promise<RecordedTree> {
  const { top, gitDir, indexFile, head, branch } = around;
  const folder = mkdtempSync(join(gitDir, 'ralph-index-'));
  try {
    const [copy, work] = [join(folder, 'index'), join(folder, 'work')];
    for (const to of [copy, work]) if (existsSync(indexFile)) copyFileSync(indexFile, to);
    const staged = await git(around, ['write-tree'], { index: copy });
    // Files that cannot be read stay as the index has them.
    await git(around, ['add', '--all', '--ignore-errors', '--', '.'], { index: work });
    const forced = also.filter((path) => isFileAt(top, path));
    if (forced.length > 0) {
      const words = [
        '--literal-pathspecs',
        'add',
        '--force',
        '--ignore-errors',
        '--pathspec-from-file=-',
        '--pathspec-file-nul',
      ];
      await git(around, words, { index: work, input: Buffer.from(forced.join('\0'), 'latin1'), at: top });
    }
    const tree = must(await git(around, ['write-tree'], { index: work }));
    const index = staged.ok
      ? must(await git(around, ['commit-tree', staged.text.trim(), '-p', head, '-m', 'Index']))
      : null;
    const parents = [head, ...(index === null ? [] : [index])].flatMap((parent) => ['-p', parent]);
    const commit = must(await git(around, ['commit-tree', tree, ...parents, '-F', '-'], { input: message }));
    must(await git(around, ['update-ref', ref, commit]));
    return { commit, index, head, branch };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function must({ ok, text, complaint }: Answer): string {
  if (!ok) throw new Error(complaint.trim() || 'git failed');
  return text.trim();
}

/** Returns the path of a name that git printed, whose bytes are the characters. */
export const onDisk = (top: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);

function isFileAt(top: string, path: string): boolean {
  const stat = lstatSync(onDisk(top, path), { throwIfNoEntry: false });
  return stat !== undefined && !stat.isDirectory();
}
