import { gitSettings } from '../../sandbox/environment.ts';
import { onPath } from '../../state/process/find-program.ts';
import { type ProgramEnd, runToEnd } from '../../state/process/run-to-end.ts';
import { NO_FILE, partsOf, type Settings } from '../../task/git/run-git.ts';
import { RalphError } from '../../text/message.ts';
import { redact } from '../../text/redact/redact.ts';
import { GIT_TEXTS } from '../messages.ts';

export interface GitCall {
  readonly env: NodeJS.ProcessEnv;
  /** Absolute git folder: git uses no other, whatever the agent wrote into its work tree. */
  readonly gitDir?: string;
  /** Absolute path. */
  readonly workTree?: string;
  /** Working directory of git; default: the work tree or the git folder. */
  readonly cwd?: string;
  readonly index?: string;
  /** Folder for new objects, instead of that in the git folder. */
  readonly objects?: string;
  readonly input?: Buffer | string;
  /** True if git may connect to another repository. */
  readonly network?: boolean;
  /** Further variables, such as the identity of a commit. */
  readonly more?: Readonly<Record<string, string>>;
}

/** `output`: file names in it are bytes. `complaint`: error output, no hints or credentials, at most 2,000 characters. */
export type GitEnd = ProgramEnd & { readonly ok: boolean };

const LOCAL_MS = 300_000;
const NETWORK_MS = 600_000;
const MOST_COMPLAINT = 2_000;
const MOST_OUTPUT = 512 * 1024 * 1024;

/** Settings that override every configuration: no hook, no program of a repository, no signature, nothing in the background. */
const SETTINGS: Settings = [
  ['core.hooksPath', NO_FILE],
  ['core.fsmonitor', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.splitIndex', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['commit.gpgSign', 'false'],
  ['push.gpgSign', 'false'],
  ['push.followTags', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['submodule.recurse', 'false'],
  ['fetch.writeCommitGraph', 'false'],
  ['protocol.file.allow', 'always'],
];

/** Pattern for variables by which users reach their repositories; git's other variables are dropped. */
const KEPT = /^GIT_(?:CONFIG_(?!PARAMETERS$)|SSH|ASKPASS|SSL_|PROXY_|HTTP_)/;

/** Runs git without a terminal. Throws RalphError `refused` if it is not installed; any other failure is in the answer. */
export async function git(words: readonly string[], call: GitCall): Promise<GitEnd> {
  const { env, gitDir, workTree, cwd, input = '', network = false } = call;
  const program = onPath('git', env);
  if (program === null) throw new RalphError('refused', GIT_TEXTS.noGit);
  const { code, output, complaint } = await runToEnd(program, words, {
    cwd: cwd ?? workTree ?? gitDir,
    env: environment(call),
    input,
    timeMs: network ? NETWORK_MS : LOCAL_MS,
    mostOutput: MOST_OUTPUT,
  });
  const errors = complaint.replace(/^hint:.*\n?/gm, '').slice(-MOST_COMPLAINT);
  const said = redact(errors.replace(/(:\/\/)[^\s/@]+@/g, '$1'));
  return { ok: code === 0, code, output, complaint: said };
}

/** Returns git's output without its last newline. Throws RalphError `state-io` with `what` and git's error. */
export async function askGit(words: readonly string[], call: GitCall, what: string): Promise<string> {
  return (await bytesOfGit(words, call, what)).toString('utf8').replace(/\n$/, '');
}

/** Returns git's output. Throws RalphError `state-io` with `what` and git's error. */
export async function bytesOfGit(words: readonly string[], call: GitCall, what: string): Promise<Buffer> {
  const { ok, output, complaint } = await git(words, call);
  if (!ok) throw new RalphError('state-io', GIT_TEXTS.failed(what, complaint));
  return output;
}

/** Splits a NUL-separated list; each entry has one character for each of its bytes. */
export const listed = (output: Buffer): string[] => partsOf(output.toString('latin1'));

function environment({ env, gitDir, workTree, index, objects, network = false, more }: GitCall): NodeJS.ProcessEnv {
  const given: Record<string, string | undefined> = {};
  for (const [key, value] of Object.entries(env)) {
    if (!/^(?:GIT_|RALPH_)/.test(key) || KEPT.test(key)) given[key] = value;
  }
  return {
    ...given,
    ...gitSettings(given, SETTINGS),
    GIT_ALLOW_PROTOCOL: network ? 'file:git:http:https:ssh' : 'none',
    GIT_DEFAULT_REF_FORMAT: 'files',
    GIT_GRAFT_FILE: NO_FILE,
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
    ...(gitDir !== undefined && { GIT_DIR: gitDir }),
    ...(workTree !== undefined && { GIT_WORK_TREE: workTree }),
    ...(index !== undefined && { GIT_INDEX_FILE: index }),
    ...(objects !== undefined && { GIT_OBJECT_DIRECTORY: objects }),
    ...more,
  };
}
