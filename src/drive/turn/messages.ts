import type { LoopState, Steering } from '../../engine/schema/state.ts';
import { withPrefix } from '../../state/process/program.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { counted } from '../../text/figures.ts';
import { advise, type Message, offer, startOn } from '../../text/message.ts';
import { asSentence, listed, quoted } from '../../text/quote.ts';
import { formatDuration, localTime } from '../../text/time.ts';

const RESUME_OR_RESTART = { Resume: 'resume', 'Start over': 'restart' };

export const HOOK_TEXTS = {
  newer: (path: string, version: number): string =>
    `The state file ${path} was written by a newer ralph-loop (schema ${version}) and was left unchanged. Update this one.`,
  corrupt: (moved: string, problem: string, hasContract: boolean): Message =>
    offer(
      `The state file is corrupt (${problem}) and was moved to ${moved}. ${hasContract ? 'The loop does not continue; its counters are in the journal.' : 'The loop has ended.'}`,
      hasContract ? RESUME_OR_RESTART : { 'Start a new one': 'start' },
    ),
  restored: (moved: string, iteration: number): string =>
    `The loop's state was changed by another program. It was restored from the contract and the journal (iteration ${iteration}); the changed file is ${moved}.`,
  contractChanged: advise(
    'The contract was changed by another program, so its commands cannot be trusted.',
    'The user has to start the loop again',
    'resume',
  ),
  orphaned: offer("This loop's contract is missing, so its commands cannot be trusted.", {
    'End it': 'cancel',
    'Start it again': 'resume',
  }),
  taskMissing: (path: string): Message =>
    advise(
      `The loop has ended: the task file ${path} is missing, empty or not a regular file.`,
      'Restore it, then resume',
      'resume',
    ),
  frontmatterChanged: (path: string): Message =>
    advise(
      `The frontmatter of ${path} changed during the loop. The loop continues under its contract.`,
      'The user can adopt the change',
      'accept',
    ),
  vanished: offer(
    'The state file of this loop is missing, so the loop does not continue; its contract and its journal exist.',
    { ...RESUME_OR_RESTART, 'End it': 'reset' },
  ),
  gone: ({ state, contract }: { readonly state: string; readonly contract: string }): Message =>
    advise(`This loop is lost: its state ${state} and its contract ${contract} are missing.`, 'Start over', 'start'),
  stateLost: (path: string, done: number): Message =>
    offer(`${path} is missing or unreadable; its loop has done ${counted(done, 'iteration')}.`, RESUME_OR_RESTART),
  interruptedLoop: (done: number): Message =>
    offer(`Found an interrupted loop (${counted(done, 'iteration')} done); no process runs it.`, RESUME_OR_RESTART),
  carriedOver: (iteration: number, max: number): string =>
    `The loop (${iteration} of ${max} iterations done) stays with this session. Send any message; the loop continues after the answer.`,
  commandRuns:
    "The client runs your command. The loop continues after the agent's next answer; if your command makes it answer nothing, send any message.",
  startedByHand: advise(
    'A loop has started because RALPH_ACTIVE=1 is set and PROMPT.md exists. Send it as the first prompt.',
    'Or end the loop',
    'cancel',
  ),
  noLoop: offer(
    `RALPH_ACTIVE=1 is set, but there is no loop and no ${DEFAULT_TASK}, so this session runs without a loop.`,
    { 'Create the task': 'init', 'Or start a loop': 'start' },
  ),
  atWorkElsewhere: (pid: number): Message =>
    offer(
      `The loop of this conversation is running in another client (process ${pid}), so this session takes no part in it.`,
      { 'Show it': 'status', 'End it': 'stop' },
    ),
  notHere: (folder: string): string =>
    `The loop that RALPH_LOOP_ID names is not running in ${folder}, so this session runs without it. Start the client in the folder of the loop, or unset RALPH_LOOP_ID.`,
  exportCap:
    'The client ends a turn after 8 blocks without a tool call: start it with CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0, or use the launcher.',
  checksGivenUp: 'Checks were cancelled because the loop was stopped or paused.',
} as const;

export const START_TEXTS = {
  otherTerms: 'the terms of the task differ from those that were agreed to.',
  taskOutside: (path: string, project: string): string =>
    `The task file ${path} is outside the project ${project}. Move it into the project, or start in its own project.`,
  taskUnreadable: (path: string, code: string): Message | string => {
    if (code !== 'ENOENT') return `Cannot read the task file ${path} (${code}).`;
    const text = `the task file ${path} does not exist.`;
    return path === DEFAULT_TASK
      ? offer(text, { 'Describe a task': 'run "TASK"', 'Or create the file from a template': 'init' })
      : advise(text, 'Create a task folder', 'scaffold NAME');
  },
  taskEmpty: (path: string): string => `The task file ${path} is empty. Write the task into it, then start again.`,
  gitChanged: (names: readonly string[]): string =>
    `git settings changed since the loop started: ${names.join(', ')}. They apply from now on.`,
  noGitSettings:
    'a plan needs the settings of git at its start, but git took too long to list them. Check that "git status" works here, then run the command again.',
  twoModes: (one: string, other: string): string =>
    `the permission modes ${one} and ${other} contradict each other. Leave one out.`,
  noUndo: (why: string): string => `There will be no undo: ${why}`,
  uncommitted: (paths: readonly string[], canWorktree: boolean): string => {
    const apart = canWorktree ? ' To work without them, add --worktree.' : '';
    return `Uncommitted changes: ${listed(paths, 5)}.${apart}`;
  },
  invalid: (path: string, list: string): Message => ({ text: `${path} cannot be started:\n${list}`, task: path }),
  badConfig: (path: string, error: Error): string =>
    `${path} ${error instanceof SyntaxError ? 'is not valid JSON' : 'cannot be read'}: ${error.message}`,
  newer: (path: string): string =>
    `The state file ${path} was written by a newer ralph-loop. Update this one, or move the file away.`,
  alive: (iteration: number, pid: number): Message =>
    offer(
      `A loop is already running (iteration ${iteration}, client process ${pid}). To run another beside it, add --loop NAME.`,
      { 'Show it': 'status', 'End it': 'stop' },
    ),
  tooSlow: (seconds: number, limit: number): string =>
    `The longest wait of this loop (idle.max_delay, background_wait, or all commands and checks of an iteration plus its delay) is ${Math.round(seconds)} s; the Stop hook's limit is ${limit} s. Shorten it.`,
  cannotRun: (problems: readonly string[]): string =>
    `${problems.join('\n')}\nNothing was started. To start without running the checks first, add --no-baseline, or baseline: false to the task.`,
  checksBefore: (results: string): string => `Checks before the start: ${results}.`,
  allPass:
    'Every check passes already, so the checks cannot show that this task is done. Add one that fails now, or "required_outputs".',
  noChecks: 'none: a completion is accepted unverified; add commands under "validation:"',
  cancelled: 'Cancelled; nothing was started.',
  baselineLeft: 'Nothing was started: the checks before the start were interrupted.',
  checksRun: (name: string): string => `Running the checks once: ${name} … Ctrl+C ends them.`,
  onlyPlans: 'In plan mode the agent can change nothing. Choose acceptEdits if the task needs changes.',
  nothingToVerify:
    'No checks are configured: completion will be accepted unverified. Add commands under "validation:".',
  noHooks: (taskPath: string): Message =>
    offer('The hooks are not installed in this project, so a client started here does not join the loop.', {
      'Install them': 'init',
      'Or run without a session': `run ${quoted(taskPath)}`,
    }),
  unguardedByHand:
    'This task has guardrails, which a client started by hand does not enforce. Start it with --launch, or run the loop without a session.',
  otherLoop: (name: string | null, patterns: readonly string[]): string =>
    `${name === null ? 'The default loop' : `The loop ${name}`} works in this folder, too, and only one of the two protects ${patterns.join(', ')}: it restores these files even if the other changed them. Run one of them with --worktree.`,
  noTaskFile: (folder: string): string =>
    `The folder ${folder} has neither RALPH.md nor task.md. A task folder needs one: settings between two --- lines, then the task.`,
  argsWithoutTask: (names: readonly string[], path: string): string =>
    `${names.map((name) => `--arg ${name}`).join(', ')}: ${path} does not exist. Name the task file or its folder: --task PATH.`,
  argsNeedBash:
    'A command of this task uses an argument, which cannot be quoted for PowerShell, and no bash was found. Install git, which includes bash.',
  allChecked: (path: string, total: number): string =>
    `${path} has nothing to do: ${total === 1 ? 'its only item is' : `all of its ${total} items are`} checked. Uncheck an item, or add one ("- [ ] what").`,
  finished: ({ mode, taskPath, plan }: Pick<LoopState, 'mode' | 'taskPath' | 'plan'>): Message => {
    const again = startOn(mode, taskPath, plan !== undefined);
    return advise('The last loop is complete, so it cannot be resumed.', 'Start a new one', again);
  },
  nothingToResume: advise('There is no live or incomplete loop to resume.', 'Start one', 'run TASK'),
  settingsUnagreed: (settings: readonly { readonly line: string }[], start: string): Message => {
    const [lines, it] = [settings.map(({ line }) => line).join('; '), settings.length === 1 ? 'it' : 'them'];
    const message = `You have not agreed to: ${lines}. Pass ${it} with --set KEY=VALUE, or agree at a terminal.`;
    return advise(message, 'Agree', start);
  },
  adoptedByResume: (changes: string): string => `Adopted by the resume: ${changes}.`,
  agreedChanges: (changes: string): string => `You agreed to changes since the request: ${changes}.`,
  newStart: (loss: string): string => `${loss} The user took the state of this moment as a new start.`,
  locked: advise('The contract of this loop is locked (accept: never) until the loop has ended.', 'End it', 'stop'),
  notAgreed: advise('Nothing was started; the loop still awaits your consent.', 'Refuse it', 'cancel'),
  needsConsent: offer('An agent requested this loop, and only a user at a terminal can approve it.', {
    'Show it and approve it': 'consent',
    'Refuse it': 'cancel',
  }),
  nothingPending: (as: string): Message =>
    advise(`nothing awaits your consent: this loop has ended (${as}).`, 'List the loops', 'list'),
  nonePending: advise('no loop here awaits your consent.', 'List the loops', 'list'),
  noContract: advise("This loop's contract is missing.", 'Start it again', 'resume'),
} as const;

export const LAUNCH_TEXTS = {
  retrying: (until: string): string =>
    `The API answered with a server error; the loop tries again at ${localTime(until)}.`,
  waitingForLimit: (until: string, isKnown: boolean): string =>
    `A rate limit applies; the loop ${isKnown ? 'continues' : 'tries again'} at ${localTime(until)}.`,
  ranCommand: (name: string, outcome: string, durationMs: number, why = ''): string =>
    `Command ${name}: ${outcome} after ${formatDuration(durationMs)}${why === '' ? '' : `: ${why}`}.`,
  stillThere: advise('The client exited while the loop was live.', 'Resume', 'resume'),
  programGone: (path: string): string =>
    `A file of this loop's program, ${path}, is missing, so its hooks deny every call of the agent. Install it again.`,
  unknownEnd: advise('The loop has ended, but the archive does not record how.', 'Show its journals', 'logs'),
  forLaunch: (words: readonly string[]): string =>
    `-- ${words.join(' ')}: this command starts no client, so it cannot pass these options on. Give them to the client that you start.`,
  needsMode:
    'A headless loop needs a permission mode, because the default mode denies every write and command. Add --permission-mode MODE (acceptEdits, or bypassPermissions in a sandbox) or permission_mode in the frontmatter.',
} as const;

export const AGENT_TEXTS = {
  forRunner: (command: string): string => `agent (${command}) applies only to "run"; this loop uses Claude Code.`,
  noGuardrails: (command: string): string =>
    `Guardrails cannot be enforced on an agent command (${command}): they need hooks of Claude Code. Remove the guardrails from the task and the settings, or remove the agent command.`,
  untold: (key: string): string =>
    `${key} needs usage figures, which an agent command does not report. Limit budget.max_time, timeout or max_iterations instead.`,
  clientsAlone: (keys: readonly string[]): string =>
    `${keys.join(', ')}: only Claude Code supports this, but the agent of this loop is a command. Add it to the command.`,
  clientsOptions: (words: readonly string[]): string =>
    `-- ${words.join(' ')}: options for Claude Code, but the agent of this loop is a command. Add them to the command.`,
  changed: (before: string, after: string): Message =>
    advise(
      `You cannot change the agent from ${before} to ${after} while the loop runs.`,
      'End the loop, then resume',
      'resume',
    ),
} as const;

/** Returns the accepted changes among messages to the agent, for the user; null if there are none. */
export function announcement(steering: readonly Pick<Steering, 'text' | 'announces'>[]): string | null {
  const lines = steering.flatMap(({ text, announces }) => (announces === undefined ? [] : [withPrefix(text)]));
  return lines.length === 0 ? null : lines.join('\n');
}

export function failedText(message: string, log: string): Message {
  return advise(
    `The Stop hook failed and let the turn end; the loop is still live: ${asSentence(message)} Details: ${log}.`,
    'Show the loop',
    'status',
  );
}
