import { printable } from '../../term/format.ts';

const shown = (text: string): string => printable(text).slice(0, 200);

/** Messages about mirrors, workspaces, checkpoints and branches. */
export const GIT_TEXTS = {
  badRepositoryId: (id: string) => `"${shown(id)}" is not a repository id: use 16 hexadecimal digits.`,
  badLoopId: (id: string) => `"${shown(id)}" is not a loop id: use letters, digits, ".", "_" and "-".`,
  closedPlace: (dir: string, closed: string) =>
    `agents may not write in ${shown(closed)}. Choose a folder outside it instead of ${shown(dir)}.`,
  badCommit: (sha: string) => `"${shown(sha)}" is not a full commit name.`,
  badRef: (ref: string) => `"${shown(ref)}" is not a full reference name.`,
  badUrl:
    'the address of the repository is invalid: give an address that every worker can fetch from (ssh, https, http, git or file), or an absolute path.',
  noGit: 'git was not found on the PATH. Install it.',
  failed: (what: string, complaint: string) => `git failed when ${what}: ${complaint || 'it gave no reason'}`,
  unreachable: (complaint: string) =>
    `the repository did not answer. Check its address and your credentials with git ls-remote.\n${complaint.replace(/\n+Please make sure.*$/s, '')}`,
  held: (path: string, pid: number) => `process ${pid} still holds ${path}. Wait until it has finished, or stop it.`,
  noCommit: (sha: string) => `the repository no longer has commit ${sha.slice(0, 12)}.`,
  noCheckpoint: (sha: string) => `checkpoint ${sha.slice(0, 12)} is neither in the mirror nor in the repository.`,
  badCheckpoint: (sha: string, problem: string) => `${sha.slice(0, 12)} is not a valid checkpoint: ${problem}.`,
  noFolders: 'the checkpoint does not say where its loop was.',
  otherLoop: (sha: string, loopId: string) => `checkpoint ${sha.slice(0, 12)} belongs to loop ${shown(loopId)}.`,
  turned: (path: string) => `${path} was replaced, so no checkpoint can be made from this work tree.`,
  notContinued: (sha: string, expected: string) =>
    `checkpoint ${sha.slice(0, 12)} does not continue ${expected.slice(0, 12)}, so it is not pushed.`,
};

/** Messages about the outcome of a publication. */
export const PUBLISH_TEXTS = {
  none: 'Nothing was pushed.',
  same: (branch: string) => `Branch ${branch} has no commits of its own.`,
  pushed: (branch: string) => `Pushed branch ${branch}.`,
  noGh: (branch: string) => `Pushed branch ${branch}. Install gh to open pull requests.`,
  opened: (branch: string, url: string) => `Opened a pull request for ${branch}: ${url}`,
  exists: (branch: string, url: string) => `The pull request for ${branch} is already open: ${url}`,
  pullFailed: (branch: string, complaint: string) => `Pushed branch ${branch}. gh opened no pull request: ${complaint}`,
  title: (branch: string) => `ralph-loop: ${branch.replace(/^ralph\//, '')}`,
  rest: (loopId: string) => `Work of the loop ${loopId}`,
};
