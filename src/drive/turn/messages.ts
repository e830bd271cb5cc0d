import { DEFAULT_TASK } from '../../task/task-file.ts';
import { formatDuration } from '../../text/duration.ts';

/** What the drivers say to people: what happened, where, what to do next. */
export const HOOK_TEXTS = {
  newer: (path: string, version: number): string =>
    `the state file ${path} was written by a newer ralph-loop (schema ${version}). Update this one; the file was not touched.`,
  corrupt: (moved: string, problem: string): string =>
    `the state file could not be read (${problem}). It was moved to ${moved}, and the loop is over. Start anew with: main.cjs start.`,
  restored: (moved: string, iteration: number): string =>
    `the loop's state had been rewritten from outside. It was restored from the contract and the journal (iteration ${iteration}); what was found lies in ${moved}.`,
  contractChanged:
    'the contract was changed from outside, so that nothing proves what may run. The user has to start the loop again: main.cjs start --resume.',
  orphaned:
    'the contract of this loop is gone, so that nothing proves what may run. Stop it (main.cjs cancel) or start it again: main.cjs start --resume.',
  taskMissing: (path: string): string =>
    `the task file ${path} is missing, empty or no file, so the loop is over. Write it and start again: main.cjs start --resume.`,
  frontmatterChanged: (path: string): string =>
    `the frontmatter of ${path} changed while the loop runs. It is not adopted: the loop goes on under its contract. The user can adopt it with: main.cjs accept.`,
  vanished:
    'the state file of this loop is gone, so the loop is over. If nobody meant that: main.cjs start --resume goes on from the archive, --fresh begins anew.',
  leftBehind: (iteration: number): string =>
    `a loop of a client that is gone lies here (iteration ${iteration}). It is left alone. Go on with it: main.cjs start --resume; begin anew: main.cjs start --fresh.`,
  carriedOver: (iteration: number, max: number): string =>
    `the loop (${iteration} of ${max} iterations done) stays with this session. Send any message, and it goes on when that is answered.`,
  startedByHand:
    'a loop has begun, because RALPH_ACTIVE=1 is set and there is a PROMPT.md. Send it as the first prompt, or leave with: main.cjs cancel.',
  exportCap:
    'The client ends a turn after 8 blocks without a tool call: start it with CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0, or use the launcher.',
  checksGivenUp: 'they were given up, since the loop was ended or paused meanwhile.',
  cancelledStop: 'the loop was cancelled.',
  toolFailed: (message: string): string =>
    `ralph-loop could not judge this call and refuses it: ${message} Try again, or end your turn and say so.`,
  cancelled: 'this loop was cancelled by the user: stop working on it and end your turn.',
  timeIsUp: 'time is up: end your message with what is done and what is next. The next iteration goes on from there.',
} as const;

export const START_TEXTS = {
  taskOutside: (path: string, project: string): string =>
    `the task file ${path} lies outside the project ${project}. Move it into the project, or start in its own.`,
  taskUnreadable: (path: string, code: string): string =>
    code === 'ENOENT'
      ? `there is no task file ${path}. ${path === DEFAULT_TASK ? 'main.cjs init writes one to fill in.' : 'main.cjs scaffold NAME makes a task folder.'}`
      : `the task file ${path} cannot be read (${code}).`,
  taskEmpty: (path: string): string => `the task file ${path} is empty. Write what is to be done, then start again.`,
  invalid: (path: string, list: string): string => `${path} cannot be started:\n${list}`,
  badConfig: (path: string, problem: string): string => `${path} is no valid JSON: ${problem}`,
  newer: (path: string): string =>
    `the state file ${path} was written by a newer ralph-loop. Update this one, or move that file away.`,
  stateLies: (iteration: number): string =>
    `a loop already lies here (iteration ${iteration}), and its client is gone. Go on with it: main.cjs start --resume. Put it into the archive and begin anew: main.cjs start --fresh.`,
  alive: (iteration: number, pid: number): string =>
    `a loop already runs here (iteration ${iteration}, client process ${pid}). See it: main.cjs status. End it: main.cjs stop or cancel. Run another beside it, with another name: --loop NAME.`,
  tooSlow: (seconds: number, limit: number): string =>
    `the longest wait of this loop (idle.max_delay, background_wait, or all commands and checks of an iteration together, with the delay after it) is ${Math.round(seconds)} s, and the Stop hook has ${limit} s. Make it shorter.`,
  nothingToVerify:
    'this loop has nothing to verify, so that a claim of completion is believed (verified: false). Name the commands that must pass under "validation:" in the frontmatter.',
  noHooks:
    'the hooks are not installed in this project: a client that you start here takes no part in the loop. Run: main.cjs init. Or leave sessions out: main.cjs run.',
  unguardedByHand:
    'this task has rules for the agent’s tool calls, and a client that you start by hand does not keep them: the hook that does comes with the launcher (the same command with --launch) and with main.cjs run.',
  noTaskFile: (folder: string): string =>
    `there is no RALPH.md in the folder ${folder}, and no task.md. A task folder needs one: its settings between two lines ---, then the task.`,
  argsWithoutTask: (names: readonly string[], path: string): string =>
    `${names.map((name) => `--arg ${name}`).join(', ')}: there is no ${path}. Name the task file or its folder: --task PATH.`,
  argsNeedBash:
    'a command of this task has an argument in it, and no bash was found, only PowerShell, for which it cannot be quoted. Install git, which brings bash.',
  allChecked: (path: string, total: number): string =>
    `there is nothing to do in ${path}: ${total === 1 ? 'its only item is' : `all of its ${total} items are`} checked. Uncheck what is to be done again, or add items ("- [ ] what").`,
  finished: 'the last loop here is complete. Begin a new one: start, without --resume.',
  nothingToResume: 'there is no loop here to resume, neither live nor in the archive. Start one: main.cjs start.',
  notAgreed: (name: string | null): string =>
    `nothing was started; the loop still awaits your consent. main.cjs cancel${name === null ? '' : ` --loop ${name}`} refuses it.`,
  noContract: 'this loop has no contract any more. Start it again: main.cjs start --resume.',
  noIterationsLeft: (iteration: number, max: number): string =>
    `this loop has used ${iteration} of ${max} iterations. Grant more: main.cjs start --resume --max-iterations N.`,
} as const;

export const LAUNCH_TEXTS = {
  waitingForLimit: (until: string): string => `a rate limit holds until ${until}; the loop goes on then.`,
  ranCommand: (name: string, outcome: string, durationMs: number): string =>
    `command ${name}: ${outcome} after ${formatDuration(durationMs)}.`,
  stillThere: 'the client ended, and the loop is still there. Go on with: main.cjs start --resume.',
  pausedThere:
    'The client has ended, so go on with: main.cjs start --resume --launch (the launcher: ralph-audit.sh --resume).',
  unknownEnd: 'the loop is gone and the archive does not say how it ended. See: main.cjs logs.',
  needsMode:
    'a headless loop needs a permission mode, because the default one denies every write and command. Give --permission-mode MODE (acceptEdits, or bypassPermissions in a sandbox), or permission_mode in the frontmatter.',
} as const;

/** Of an agent that is a command of the user's. */
export const AGENT_TEXTS = {
  forRunner: (command: string): string =>
    `agent (${command}) is for main.cjs run; this loop is worked on by Claude Code.`,
  noGuardrails: (command: string): string =>
    `the agent of this loop is a command (${command}), and guardrails cannot be enforced on it: hooks of Claude Code enforce them. Take the guardrails out of the task's frontmatter and of the settings, or run the loop with Claude Code (no --agent, no agent: in the frontmatter).`,
  untold: (key: string): string =>
    `${key} is set, but the agent of this loop is a command, which does not tell what it uses. Limit budget.max_time, timeout or max_iterations instead.`,
  clientsAlone: (keys: readonly string[]): string =>
    `${keys.join(', ')}: only Claude Code heeds this, and the agent of this loop is a command. Give it in the command.`,
  clientsOptions: (words: readonly string[]): string =>
    `-- ${words.join(' ')}: these are options for Claude Code, and the agent of this loop is a command. Give them in the command.`,
  changed: (before: string | null, after: string | null): string =>
    `the agent (${before ?? 'Claude Code'}) cannot become another one (${after ?? 'Claude Code'}) while the loop runs. End it, then go on with: main.cjs run --resume.`,
} as const;

/** Every line that reaches the user through the client begins so. */
export function said(message: string): string {
  return `ralph: ${message}`;
}

export function nextText(iteration: number, max: number): string {
  return `iteration ${iteration} of ${max}.`;
}

export function failedText(message: string, log: string): string {
  return `the Stop hook failed and let the turn end: ${message} Details: ${log}. The loop is still there: main.cjs status.`;
}
