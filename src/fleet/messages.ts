import { printable } from '../term/format.ts';
import { listed } from '../text/quote.ts';

/** Messages about loops over many machines. */
export const FLEET_TEXTS = {
  noUrl: 'RALPH_FLEET_URL is not set. Name the server, for example: export RALPH_FLEET_URL=redis://127.0.0.1:6379',
  badKey: (least: number): string =>
    `RALPH_FLEET_KEY is missing or shorter than ${least} characters. Make one for all members of the fleet: openssl rand -hex 32`,
  otherKey: 'the other members of this fleet use a different RALPH_FLEET_KEY. Set the same key everywhere.',
  badUrl:
    'RALPH_FLEET_URL is not an address such as redis://:PASSWORD@127.0.0.1:6379. Write "@", "/", ":" and "%" in the password as %40, %2F, %3A and %25.',
  unreachable: (place: string, why: string): string =>
    `no server answers at ${place} (${why}). Start it, or correct RALPH_FLEET_URL.`,
  denied: (place: string, why: string): string =>
    `the server at ${place} refuses the connection (${why}). Correct user, password and database in RALPH_FLEET_URL: redis://USER:PASSWORD@HOST:PORT/DATABASE`,
  refuses: (why: string): string =>
    `the Redis server refused a command of the fleet (${why}). See what it lacks: ralph-loop fleet doctor`,
  gone: 'the connection to the Redis server broke. See whether it answers: ralph-loop fleet doctor',
  away: 'the Redis server does not answer. This page connects again by itself.',
  noPackages: (line: string): string => `the fleet needs the packages bullmq and ioredis. Install them: ${line}`,
  tooLarge: (bytes: number): string =>
    `the terms of this task take ${bytes} bytes, more than the 256 KiB of a submission. Move long commands into scripts.`,
  credentialsInUrl:
    'the address of the repository contains credentials. Leave them out: each worker uses the git credentials of its machine.',
  noBase: (ref: string, url: string): string =>
    `${url} has no branch, tag or commit ${ref}. Name the one to begin from: --base REF`,
  noTaskAt: (task: string, url: string, ref: string): string =>
    `${url} has no task ${task} at ${ref}. Commit the task, push it and add it again.`,
  outside: (task: string): string =>
    `${task} is outside the repository. Name a task by its path in the repository, such as tasks/docs.`,
  plan: (task: string): string =>
    `${task} is a plan, which the fleet does not run. Run it on one machine: ralph-loop run ${task} --plan --parallel 2`,
  differs: (path: string, ref: string): string =>
    `${path} in this project differs from the one at ${ref}, which the fleet runs. To run yours, cancel the loop, push your version and add it again.`,
  noLoop: (id: string): string =>
    `the fleet has no loop ${id}. List its loops: ralph-loop fleet status. If the server has lost it: ralph-loop fleet doctor --requeue --repo URL ${id}`,
  noCheckpoint: (id: string, url: string): string =>
    `${url} has no checkpoint of ${id}. Add its task again: ralph-loop fleet add TASK --repo URL`,
  word: (option: string, value: string): string =>
    `--${option} ${value}: use letters, digits, ".", "_" and "-", at most 64.`,
  integrate: (value: string): string => `--integrate ${value}: give none, branch or pr.`,
  needsRepo: (command: string): string =>
    `name the repository that the workers fetch from: ralph-loop fleet ${command} --repo URL`,
  hidden: (count: number): string =>
    `${count} ${count === 1 ? 'loop is' : 'loops are'} not shown. Show all: ralph-loop fleet status --all`,
  already: (id: string): string => `this work is already queued as ${id}.`,
  noTask: 'name the tasks to queue by their paths in the repository: ralph-loop fleet add tasks/docs --repo URL',
  needsId: 'name the loop by its id. List them: ralph-loop fleet status',
  oneId: 'name one loop at a time.',
  needsText: 'the message is missing: ralph-loop fleet steer ID "TEXT"',
  longText: (length: number, most: number): string => `the message has ${length} characters; at most ${most}.`,
  keyThere: 'set',
  noGit: 'git was not found on the PATH.',
  noClient: 'Claude Code was not found; only loops with another agent can run here.',
  noAppendOnly: 'off: a restart loses the queue. Set appendonly yes.',
  noWrites: (why: string): string =>
    `refused: ${why} A full server needs more memory (maxmemory); of a replica, name its primary.`,
  evicts: (policy: string): string =>
    `${policy}: the server drops jobs when its memory is full. Set maxmemory-policy noeviction.`,
  needsAgreement: (lines: readonly string[]): string =>
    `settings of the repository start programs or widen permissions:\n${lines.map((line) => `  ${line}`).join('\n')}\nAgree to them with --yes.`,
  ended: (id: string, outcome: string): string => `${id} has ended (${outcome}).`,
  notEnded: (id: string, state: string): string => `${id} is ${state}; only a loop that has ended can be retried.`,
  usedUp: (id: string, what: string): string => `${id} has used ${what} of its terms, which do not change.`,
  notPaused: (id: string, state: string): string => `${id} is ${state}, not paused.`,
  forgotten: (id: string): string =>
    `the queue no longer has the job of ${id}. Queue it again: ralph-loop fleet doctor --requeue --repo URL ${id}`,
  requeued: (id: string): string => `${id} is queued again from its last checkpoint.`,
  nothingLost: 'Every unfinished loop of the repository has its job.',
  unsigned: (id: string): string =>
    `the submission of ${id} is not signed with this fleet's key; nothing of it was used.`,
} as const;

/** Messages about the effect of a command on a loop. */
export const CONTROL_TEXTS = {
  steer: 'The agent receives it at its next tool call, or with its next prompt.',
  pause: 'The loop pauses after the current iteration.',
  cancel: 'The loop is cancelled as soon as its worker reads this, usually within a second.',
  pauseLater: 'The loop pauses as soon as a worker takes it.',
  cancelLater: 'The loop is cancelled as soon as a worker takes it.',
  again: 'The loop is queued again from its last checkpoint.',
} as const;

/** Says that nothing happens to the loops of an account until someone starts a worker. */
export function noWorkerText(account: string): string {
  return `No worker of the account ${account} is connected. Start one: ralph-loop fleet worker --account ${account}`;
}

/** Reasons for the end or wait of a loop, and messages of a worker. */
export const WORKER_TEXTS = {
  refusedJob: "not signed with this fleet's key, or changed since",
  replayed: 'an older submission of a loop that has continued since',
  lost: 'the checkpoint is missing or was changed by hand, so the loop was not restarted',
  takeOvers: (count: number): string => `${count} workers in a row exited before they finished an iteration`,
  terms: (changes: readonly string[]): string => `the task no longer matches what was agreed to: ${changes.join('; ')}`,
  dependency: (id: string, outcome: string): string => `loop ${id}, which it depends on, is ${outcome}`,
  budget: (reading: string): string => `the budget of the fleet is used up: ${reading} are spent or reserved`,
  asked: 'a user asked for it',
  died: (how: string): string => `its runner ended (${how}) before the loop did`,
  settingUp: (command: string): string => `setting up the work tree: ${command}`,
  setUpFailed: (command: string, how: string, output: string): string =>
    `worktree_setup failed (${command}: ${how}), so no iteration started.${output === '' ? '' : ` Its output:\n${output}`}`,
  fenced: 'another worker has taken over this loop; unpushed work is dropped',
  lockLost: 'the lock could not be renewed, so the agent was stopped',
  ready: (slots: number, account: string): string =>
    `waiting for loops of the account ${account}, at most ${slots} at once.`,
  lockTime: (name: string, value: string): string => `${name} ${value}: give a duration of at least 1s.`,
  begins: (taskPath: string): string => `working on ${taskPath}`,
  leaving: 'stopping after the current iterations; a second signal stops them now.',
} as const;

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
  refused: (complaint: string) =>
    `the repository took no push. Check that this machine may push to it.\n${complaint || 'git gave no reason.'}`,
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
  same: (branch: string) =>
    `No branch ${branch} was pushed: outside .claude and .ralph, the loop left no change that git can commit.`,
  elsewhere: (branch: string, other: string) =>
    `Branch ${branch} has commits that the loop did not make, so the result is ${other}.`,
  unlike: (branch: string, paths: readonly string[]) =>
    `Branch ${branch} is not what the checks saw: ${listed(paths, 8)} ${paths.length === 1 ? 'differs' : 'differ'}.`,
  unknown: (branch: string) =>
    `Whether branch ${branch} is what the checks saw is unknown: it was pushed in a later attempt.`,
  noGh: (branch: string) => `Pushed branch ${branch}. Install gh to open pull requests.`,
  opened: (branch: string, url: string) => `Opened a pull request for ${branch}: ${url}`,
  exists: (branch: string, url: string) => `The pull request for ${branch} is already open: ${url}`,
  pullFailed: (branch: string, complaint: string) => `Pushed branch ${branch}. gh opened no pull request: ${complaint}`,
  title: (branch: string) => `ralph-loop: ${branch.replace(/^ralph\//, '')}`,
  rest: (loopId: string) => `Work of the loop ${loopId}`,
};
