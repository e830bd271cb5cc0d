import * as z from 'zod';
import { promiseProblem, signalProblem } from './claim-problem.ts';
import { guardrails } from './frontmatter-guardrails.ts';
import {
  choice,
  described,
  durationKey,
  flag,
  integer,
  line,
  list,
  numberAbove,
  numberFrom,
  ruledText,
} from './frontmatter-leaves.ts';
import { TASK_FOLDER_KEYS } from './frontmatter-task-folder.ts';
import { iterationLimits } from './policy-defaults.ts';
import { relativeGlobProblem, relativePathProblem } from './relative-path-problem.ts';
import { hasFolder, type TaskKind } from './task-kind.ts';

const run = ruledText('must be a command', 'not-blank', (text) => (text.trim() === '' ? 'must not be blank' : null));

const validationEntry = z.union(
  [
    run,
    z.strictObject({
      name: described(line().optional(), 'What the check is called; without it, what it runs.'),
      run: described(run, 'The shell command. It must exit with 0.'),
      timeout: described(integer(1, 3600).optional(), 'Seconds; 300 by default.'),
    }),
  ],
  { error: 'must be a command, or a mapping with run, name and timeout' },
);

const idle = z.strictObject(
  {
    delay: durationKey('positive', 'The first wait; 30s by default.'),
    backoff: described(numberFrom(1).optional(), 'By what each further wait grows; 2 by default.'),
    max_delay: durationKey('positive', 'The longest wait; 5m by default.'),
    max: durationKey('positive', 'How long the loop may be idle in a row; 6h by default.'),
    wake: described(choice('time', 'change').optional(), 'Whether a change of a watched file ends a wait.'),
    watch: described(
      list(ruledText('must be a glob', 'relative-path', relativeGlobProblem), 'globs').optional(),
      'Files of the project that are watched: globs.',
    ),
    max_quiet: durationKey('positive', 'With wake: change, the longest time without a look.'),
  },
  { error: 'must be a mapping with delay, backoff, max_delay, max, wake, watch, max_quiet' },
);

const breaker = z.strictObject(
  {
    findings: described(integer(0).optional(), 'Equal numbers of findings in a row; 3 by default, 0 is off.'),
    no_progress: described(integer(0).optional(), 'Iterations without progress; 0, off, by default.'),
    same_reply: described(integer(0).optional(), 'Equal replies in a row; 3 by default, 0 is off.'),
    same_error: described(integer(0).optional(), 'Equal errors in a row; 5 by default, 0 is off.'),
    denials: described(integer(0).optional(), 'Iterations with nothing but refused calls; 3 by default, 0 is off.'),
    tdd: described(integer(0).optional(), 'For TDD loops; 3 by default, 0 is off.'),
  },
  { error: 'must be a mapping with findings, no_progress, same_reply, same_error, denials, tdd' },
);

const budget = z.strictObject(
  {
    max_cost: described(numberAbove(0).optional(), 'US dollars.'),
    max_tokens: described(integer(1).optional(), 'Tokens, all kinds together.'),
    max_time: durationKey('positive', 'Time since the start.'),
    warn_at: described(numberFrom(0, 1).optional(), 'The part of a budget at which the loop warns; 0.8 by default.'),
  },
  { error: 'must be a mapping with max_cost, max_tokens, max_time, warn_at' },
);

/** The keys of every task file. Those that only a task folder has are in frontmatter-task-folder.ts. */
const SHARED_KEYS = {
  validation: described(
    list(validationEntry, 'commands').optional(),
    'Commands that must all exit with 0 before a claim of completion is believed.',
  ),
  completion_signal: described(
    ruledText('must be a text', 'completion-signal', signalProblem).optional(),
    'What the agent writes, alone on a line, when everything is done.',
    { minLength: 1 },
  ),
  completion_promise: described(
    ruledText('must be a text', 'completion-promise', promiseProblem).optional(),
    'The agent writes <promise>TEXT</promise> when everything is done. One line, no angle brackets.',
    { pattern: '^[^<>\\r\\n]+$' },
  ),
  signal_match: described(
    choice('line', 'anywhere').optional(),
    'Whether a signal counts alone on a line only (the default), or anywhere.',
  ),
  reinject: described(
    choice('auto', 'reason', 'context', 'pointer').optional(),
    'How the task goes back to the agent.',
  ),
  idle: described(idle.optional(), 'What the loop does when there is nothing to do. Without it, idle is off.'),
  breaker: described(breaker.optional(), 'Repeats that end a loop which goes round in circles.'),
  budget: described(budget.optional(), 'What the loop may use up.'),
  max_tasks: described(
    integer(1, 100).optional(),
    'Of a plan: tasks done in one session, after which the loop pauses for review; 5 by default.',
  ),
  commit_footers: described(
    list(line(), 'lines').optional(),
    'Of a plan: lines that end the message of each commit, such as "Co-authored-by: Name <mail>".',
  ),
  background_wait: durationKey('zero-too', 'How long the loop waits for work in the background; 30m by default.'),
  inter_iteration_delay: described(integer(0).optional(), 'Seconds between two iterations; 0 by default.'),
  timeout: described(
    integer(1, 3600).optional(),
    'Seconds that one iteration may take; in a RALPH.md 300 by default, elsewhere no limit.',
  ),
  stop_on_error: described(
    flag().optional(),
    'Whether an iteration that fails or runs out of time ends the loop; true by default in a RALPH.md, false elsewhere.',
  ),
  agent: described(
    line().optional(),
    'For main.cjs run: a shell command that works in place of Claude Code. It gets the prompt on its input and answers on its output.',
  ),
  model: described(line().optional(), "The client's model."),
  effort: described(line().optional(), "The client's effort."),
  permission_mode: described(line().optional(), "The client's permission mode. A headless loop needs one."),
  isolation: described(
    choice('project', 'client').optional(),
    'Whether a runner uses the settings of the project alone (the default), or all that the user has.',
  ),
  guardrails: described(guardrails.optional(), 'What the agent must not run, write or read.'),
  worktree_setup: described(
    run.optional(),
    'For main.cjs run --worktree: a shell command that sets a new worktree up, such as npm ci.',
  ),
  findings_log: described(
    ruledText('must be a path', 'relative-path', relativePathProblem).optional(),
    'The file of open findings; .claude/ralph/findings.md by default.',
  ),
};

/**
 * The frontmatter of a task file whose loop may get at most `cap` iterations. Durations come out as milliseconds. Aliases and unknown
 * keys are dealt with before (see read-settings.ts).
 */
export function frontmatterSchema(cap = iterationLimits('prompt').cap) {
  return z.strictObject({ ...SHARED_KEYS, ...TASK_FOLDER_KEYS, max_iterations: maxIterations(cap) });
}

/** What an editor is told about the frontmatter of this kind of file: the same keys, without those that are errors there. */
export function publishedFrontmatter(kind: TaskKind): z.ZodType {
  const keys = { ...SHARED_KEYS, ...(hasFolder(kind) ? TASK_FOLDER_KEYS : {}) };
  const file = kind === 'ralph-md' ? 'RALPH.md' : kind === 'checklist' ? 'task.md' : 'PROMPT.md';
  return z
    .strictObject({ ...keys, max_iterations: maxIterations(iterationLimits(kind).cap) })
    .meta({ title: `Frontmatter of a ${file}` });
}

function maxIterations(cap: number) {
  return described(integer(1, cap).optional(), `Working iterations that the agent gets, 1 to ${cap}.`);
}

export type Frontmatter = z.output<ReturnType<typeof frontmatterSchema>>;
export type ValidationEntry = NonNullable<Frontmatter['validation']>[number];
