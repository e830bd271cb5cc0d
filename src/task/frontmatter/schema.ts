import * as z from 'zod';
import { commitFormProblem } from '../../engine/plan/commit-subject.ts';
import { MOST_ITERATIONS } from '../../engine/policy/budget.ts';
import { MODES, NOTIFY_KINDS } from '../../engine/schema/constants.ts';
import { promiseProblem, signalProblem } from '../../engine/signals/signals.ts';
import type { TaskKind } from '../task-file.ts';
import { guardrails } from './guardrails.ts';
import {
  domainProblem,
  nameProblem,
  placeProblem,
  relativeGlobProblem,
  relativePathProblem,
  webAddressProblem,
} from './key-problems.ts';
import {
  choice,
  described,
  durationKey,
  flag,
  integer,
  line,
  list,
  mapping,
  numberFrom,
  optional,
  ruledText,
  secondsKey,
} from './value-types.ts';

const ABOVE_0 = 'must be a number above 0';

const run = ruledText('must be a command', 'not-blank', (text) => (text.trim() === '' ? 'must not be blank' : null));

const globs = () => list(ruledText('must be a glob', 'relative-path', relativeGlobProblem), 'globs');
const path = () => ruledText('must be a path', 'relative-path', relativePathProblem);

const validationEntry = z.union(
  [
    run,
    z.strictObject({
      name: optional(line(), 'Name of the check; the command itself by default.'),
      run: described(run, 'The shell command. It must exit with 0.'),
      timeout: secondsKey(1, 3600, 'Time limit; 5m by default.'),
    }),
  ],
  { error: 'must be a command, or a mapping with run, name and timeout' },
);

const idle = mapping({
  delay: durationKey('positive', 'The first wait; 30s by default.'),
  backoff: optional(numberFrom(1), 'Factor by which each further wait grows; 2 by default.'),
  max_delay: durationKey('positive', 'The longest wait; 5m by default.'),
  max: durationKey('positive', 'Longest continuous idle time, after which the loop ends; 6h by default.'),
  wake: optional(
    choice('time', 'change'),
    'What starts the next iteration: the end of the wait, or a change of a watched file.',
  ),
  watch: optional(globs(), 'Project files to watch: globs.'),
  max_quiet: durationKey('positive', 'With wake: change, the longest time without a model call.'),
});

const breaker = mapping({
  findings: optional(integer(0), 'Equal findings counts in a row; 3 by default, 0 is off.'),
  no_progress: optional(integer(0), 'Iterations without progress; 0, off, by default.'),
  same_reply: optional(integer(0), 'Equal replies, or equally refused claims, in a row; 3 by default, 0 is off.'),
  same_error: optional(integer(0), 'Equal errors in a row; 5 by default, 0 is off.'),
  denials: optional(integer(0), 'Iterations in which every call was denied; 3 by default, 0 is off.'),
  tdd: optional(
    integer(0),
    'TDD loops: iterations without a completed step to another scenario; 3 by default, 0 is off.',
  ),
});

const share = () => numberFrom(0, 1);

const stopAt = mapping({
  five_hour: optional(share(), 'Used share of the five-hour limit.'),
  seven_day: optional(share(), 'Used share of the seven-day limit.'),
});

const budget = mapping({
  max_cost: optional(z.number({ error: ABOVE_0 }).gt(0, { error: ABOVE_0 }), 'US dollars.'),
  max_tokens: optional(integer(1), 'Tokens: input, output and cache writes.'),
  max_time: durationKey(
    'positive',
    'Time in which the loop runs or waits. Time in which it is paused or stopped, or the machine sleeps, does not count.',
  ),
  stop_at: optional(stopAt, 'Shares of the account limits at which a run pauses until they reset, such as 0.9.'),
  warn_at: optional(numberFrom(0, 1), 'Share of a budget at which the loop warns; 0.8 by default.'),
});

const notify = mapping({
  on: optional(list(choice(...NOTIFY_KINDS), 'kinds'), 'Ends and pauses that are reported; all by default.'),
  command: optional(
    list(line(), 'words').min(1, { error: 'must have at least one word' }),
    'A program and its arguments, run without a shell. It receives the event as JSON on standard input.',
  ),
  url: optional(ruledText('must be a URL', 'url', webAddressProblem), 'URL to which the event is posted as JSON.'),
  template: optional(choice('json', 'slack', 'discord', 'ntfy'), 'Form of the JSON for url; json by default.'),
  bell: optional(flag(), 'Rings the bell of the terminal at the end; true by default.'),
});

const place = () => list(ruledText('must be a path', 'path', placeProblem), 'paths');

const sandbox = mapping({
  mode: optional(
    choice('off', 'auto', 'on'),
    'on refuses to start if the sandbox is unavailable, auto runs without it; off by default.',
  ),
  allow_write: optional(place(), 'Additional files and folders that may be written, such as ~/.cache.'),
  deny_write: optional(place(), 'Files and folders that may not be written.'),
  deny_read: optional(place(), 'Files and folders that may not be read.'),
  network: optional(
    z.union([flag(), list(ruledText('must be a domain', 'domain', domainProblem), 'domains')], {
      error: 'must be true, false or a list of domains',
    }),
    'false, the default, allows no network, true all of it. With a list, the agent can reach these domains, and checks have no network.',
  ),
});

const name = () => ruledText('must be a name', 'name', nameProblem);

const command = mapping({
  name: described(name(), 'The body shows its output as {{ commands.NAME }}.', { pattern: '^\\w[\\w-]*$' }),
  run: described(
    run,
    'The shell command. A command that begins with ./ runs in the task folder (for a PROMPT.md: in the project), every other one in the project.',
    { pattern: '\\S' },
  ),
  timeout: secondsKey(1, 3600, 'Time limit; 1m by default, and at most the timeout of the iteration.'),
  acceptance: optional(flag(), 'Whether a required gate runs it again, and it must then exit with 0.'),
});

/** Keys of every task file: type, range and description. Their defaults are in settings/defaults.ts. */
const KEYS = {
  validation: optional(
    list(validationEntry, 'commands'),
    'Commands that must all exit with 0 before a claim of completion is accepted.',
  ),
  unchanged: optional(
    globs(),
    'Files that must be the same as at the start, such as "tests/**", before a claim of completion is accepted: globs.',
  ),
  may_change: optional(
    globs(),
    'Scripts and configuration files of the checks that the task has to change: globs. The end report names those that changed.',
  ),
  may_run: optional(
    list(run, 'commands'),
    'Commands that Claude Code may run without asking, with any arguments after them, such as "git commit". Guardrails still apply.',
  ),
  verify_in: optional(
    choice('project', 'worktree'),
    'Where validation and acceptance commands run: in the project, or in a clean copy of all files that git does not ignore, set up by worktree_copy and worktree_setup. Default: project; for a plan worktree, which copies the commit of each task.',
  ),
  baseline: optional(
    flag(),
    'Whether each check runs once before the first iteration, so that a completion can show what changed; true by default.',
  ),
  completion_signal: optional(
    ruledText('must be a text', 'completion-signal', signalProblem),
    'Text that the agent writes, alone on a line, when everything is done.',
    { minLength: 1 },
  ),
  completion_promise: optional(
    ruledText('must be a text', 'completion-promise', promiseProblem),
    'The agent writes <promise>TEXT</promise> when everything is done. One line, no angle brackets.',
    { pattern: '^[^<>\\r\\n]+$' },
  ),
  signal_match: optional(
    choice('line', 'anywhere'),
    'Whether a signal counts only alone on a line (the default), or anywhere.',
  ),
  reinject: optional(choice('auto', 'reason', 'context', 'pointer'), 'How the task is sent back to the agent.'),
  idle: optional(idle, 'How the loop waits when the agent has nothing to do. Without this block, idle is off.'),
  breaker: optional(breaker, 'Circuit breaker: repeats in a row that end a loop without progress.'),
  budget: optional(budget, 'Limits on cost, tokens and time.'),
  max_tasks: optional(
    integer(1, 100),
    'Plans: number of tasks done in one session after which the loop pauses for review; 5 by default.',
  ),
  commit_message: optional(
    ruledText('must be a text', 'commit-message', commitFormProblem),
    'Plans: form of the first line of each commit, with {type}, {title}, {id} and {plan}. Default: "{type}: {title}" where commitlint or a conventional history is found, else "feat: {id} - {title}".',
  ),
  commit_footers: optional(
    list(line(), 'lines'),
    'Plans: lines at the end of each commit message, such as "Co-authored-by: Name <mail>".',
  ),
  background_wait: durationKey(
    'zero-too',
    'How long the loop waits for background work; 30m by default, but 1m for a claim with only shells left that change nothing.',
  ),
  inter_iteration_delay: secondsKey(0, null, 'Time between two iterations; 0 by default.'),
  timeout: secondsKey(
    1,
    3600,
    'Time limit of one iteration, without sleep of the machine; 5m by default in a RALPH.md or task.md, 2h in a PROMPT.md or a plan.',
  ),
  stop_on_error: optional(
    flag(),
    'Whether an iteration that fails or times out ends the loop; true by default in a RALPH.md or task.md, false in a PROMPT.md.',
  ),
  agent: optional(
    line(),
    'For ralph-loop run: a shell command that works in place of Claude Code. It reads the prompt from standard input and answers on standard output.',
  ),
  model: optional(line(), "The client's model."),
  effort: optional(line(), "The client's effort."),
  permission_mode: optional(choice(...MODES), "The client's permission mode. A headless loop needs one."),
  isolation: optional(
    choice('project', 'client'),
    "Whether a runner uses only the project's settings (the default; the user's deny and ask rules still apply), or all settings of the user.",
  ),
  guardrails: optional(guardrails, 'What the agent must not run, write or read.'),
  sandbox: optional(sandbox, 'Operating system sandbox for the agent and for every command of the loop.'),
  worktree_setup: optional(
    run,
    'For ralph-loop run --worktree, verify_in: worktree and plans: a shell command that sets up a new worktree or copy, such as npm ci.',
  ),
  accept: optional(
    choice('ask', 'never'),
    'Whether ralph-loop accept may change the contract of a loop; "never" locks it until the loop has ended.',
  ),
  notify: optional(notify, 'How the user is notified that the loop has ended or paused.'),
  worktree_copy: optional(
    globs(),
    'For ralph-loop run --worktree, verify_in: worktree and plans: ignored project files, such as .env, to copy into a new worktree or copy.',
  ),
  findings_log: optional(path(), 'The file of open findings; .ralph/findings.md by default.'),
  args: optional(
    list(name(), 'names'),
    'Names of arguments, whose values start takes as --arg name=value; the body shows them as {{ args.NAME }}.',
    { items: { type: 'string', pattern: '^\\w[\\w-]*$' } },
  ),
  commands: optional(list(command, 'commands'), 'Commands whose output is part of every prompt as evidence.'),
  items_per_iteration: optional(integer(1, 20), 'Number of items that the agent is asked to do per iteration.'),
  reflect_every: optional(
    integer(0, 20).refine((every) => every !== 1, {
      error: 'must be 0 (off), or from 2 to 20',
      params: { rule: 'range' },
    }),
    'Asks the agent to reflect in every Nth iteration, 2 to 20; 0, the default, means never.',
    { not: { const: 1 } },
  ),
  completion_gate: optional(
    choice('required', 'optional', 'disabled'),
    'Whether a claim of completion must pass the gate. "required" by default if there is a completion_promise, a required output or an acceptance command, else "disabled".',
  ),
  required_outputs: optional(
    list(path(), 'paths'),
    'Files that must exist for a required gate, relative to the task folder (for a PROMPT.md: to the project).',
    { items: { type: 'string', pattern: '^(?!/)(?!.*(^|/)\\.{1,2}(/|$))[^\\\\]*[^/\\\\]$' } },
  ),
  open_questions: optional(
    choice('required', 'optional'),
    'Whether OPEN_QUESTIONS.md must exist for a required gate. Default: required if a task folder sets completion_gate: required or has the file at the start, else optional.',
  ),
};

/** Keys that configure one task and are not allowed in the configuration of a project or user. */
export const TASK_KEYS = [
  'args',
  'commands',
  'items_per_iteration',
  'reflect_every',
  'completion_gate',
  'required_outputs',
  'open_questions',
] as const satisfies readonly (keyof Frontmatter)[];

const { folder, other } = MOST_ITERATIONS;
/** Upper limit of max_iterations, by kind of task. */
export const ITERATION_CAP = { prompt: other, plan: other, tdd: other, 'ralph-md': folder, checklist: folder };

/** Keys of a frontmatter whose durations are in seconds. */
export const IN_SECONDS: readonly string[] = ['timeout', 'inter_iteration_delay'];

/** Schema of a frontmatter, all other durations in milliseconds. `canonicalKeys` handles aliases and unknown keys. */
export function frontmatterSchema(cap: number = ITERATION_CAP.prompt) {
  const max_iterations = optional(
    integer(1, cap),
    'Limit of working iterations: at most 50 in a RALPH.md or task.md, else 100.',
  );
  return z.strictObject({ ...KEYS, max_iterations });
}

export function publishedFrontmatter(kind: TaskKind): z.ZodType {
  const file = kind === 'ralph-md' ? 'RALPH.md' : kind === 'checklist' ? 'task.md' : 'PROMPT.md';
  return frontmatterSchema(ITERATION_CAP[kind]).meta({ title: `Frontmatter of a ${file}` });
}

export type Frontmatter = z.output<ReturnType<typeof frontmatterSchema>>;
export type ValidationEntry = NonNullable<Frontmatter['validation']>[number];
