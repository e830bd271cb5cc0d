import * as z from 'zod';
import { PLAN_RULES } from '../plan/plan-rules.ts';
import { BY_FILE } from '../settings/defaults.ts';
import { promiseProblem, signalProblem } from '../settings/from-environment.ts';
import type { TaskKind } from '../task-file.ts';
import { guardedGlobProblem, nameProblem, relativeGlobProblem, relativePathProblem } from './key-problems.ts';
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
  patternProblem,
  ruledText,
} from './value-types.ts';

const BLOCKED =
  'must be a pattern, or a mapping with command (and args, reason) or with pipeline (and reason), not both';

const pattern = () => ruledText('must be a pattern', 'pattern', patternProblem);
const guardedGlob = () => ruledText('must be a glob or a policy', 'glob', guardedGlobProblem);
const reason = described(line().optional(), 'What the model is told, beside the rule.');

const blocked = z.union(
  [
    pattern(),
    z.strictObject(
      {
        command: described(line(), 'The program, without its folder. Globs are allowed: git, npm*.'),
        args: described(
          list(line(), 'words').optional(),
          'The first words after it, in order; options are skipped. Globs are allowed.',
        ),
        reason,
      },
      { error: BLOCKED },
    ),
    z.strictObject(
      {
        pipeline: described(
          list(line(), 'programs').min(2, { error: 'must have at least two programs' }),
          'The programs of a pipeline, in order; a|b allows for either.',
        ),
        reason,
      },
      { error: BLOCKED },
    ),
  ],
  { error: BLOCKED },
);

const shellPolicy = z.strictObject(
  {
    mode: described(choice('allowlist', 'blocklist'), 'allowlist: nothing may run but what "allow" names.'),
    allow: described(
      list(pattern(), 'patterns').optional(),
      'RE2 patterns. Every simple command of a call must match one of them whole.',
    ),
  },
  { error: 'must be a mapping with mode, allow' },
);

export const guardrails = z.strictObject(
  {
    block_commands: described(
      list(blocked, 'patterns and rules').optional(),
      'Shell commands that are refused: RE2 patterns, matched anywhere in the command, or precise rules.',
    ),
    protected_files: described(
      list(guardedGlob(), 'globs and policies').optional(),
      'Files that must not be written: globs, and policy:secret-bearing-paths.',
    ),
    private_files: described(
      list(guardedGlob(), 'globs and policies').optional(),
      'Files that must not even be read: globs, and policy:secret-bearing-paths.',
    ),
    shell_policy: described(shellPolicy.optional(), 'An allowlist of shell commands. Leave it out to have none.'),
    lift: described(
      list(choice(...PLAN_RULES), 'names of rules').optional(),
      'Of a plan: what is denied while it runs, and shall be allowed all the same.',
    ),
    strict: described(flag().optional(), 'Refuse, too, what cannot be decided, such as code given to an interpreter.'),
  },
  { error: 'must be a mapping with block_commands, protected_files, private_files, shell_policy, lift, strict' },
);

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

const name = () => ruledText('must be a name', 'name', nameProblem);

const command = z.strictObject(
  {
    name: described(name(), 'The body shows its output as {{ commands.NAME }}.', { pattern: '^\\w[\\w-]*$' }),
    run: described(
      ruledText('must be a command', 'not-blank', (text) => (text.trim() === '' ? 'must not be blank' : null)),
      'The shell command. One that begins with ./ runs in the task folder (of a PROMPT.md: the project), every other one in the project.',
      { pattern: '\\S' },
    ),
    timeout: described(
      integer(1, 3600).optional(),
      'Seconds; 60 by default, and at most the timeout of the iteration.',
    ),
    acceptance: described(flag().optional(), 'A required gate runs it again, and it must come out well.'),
  },
  { error: 'must be a mapping with name, run, timeout, acceptance' },
);

/** Keys of every task file: type, range and description. Their defaults are in settings/defaults.ts. */
const KEYS = {
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
    'Seconds that one iteration may take; 300 by default in a RALPH.md or task.md, no limit in a PROMPT.md.',
  ),
  stop_on_error: described(
    flag().optional(),
    'Whether an iteration that fails or runs out of time ends the loop; true by default in a RALPH.md or task.md, false in a PROMPT.md.',
  ),
  agent: described(
    line().optional(),
    'For ralph-loop run: a shell command that works in place of Claude Code. It gets the prompt on its input and answers on its output.',
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
    'For ralph-loop run --worktree: a shell command that sets a new worktree up, such as npm ci.',
  ),
  findings_log: described(
    ruledText('must be a path', 'relative-path', relativePathProblem).optional(),
    'The file of open findings; .claude/ralph/findings.md by default.',
  ),
  args: described(
    list(name(), 'names').optional(),
    'Names of arguments that start takes as --arg name=value; the body shows them as {{ args.NAME }}.',
    { items: { type: 'string', pattern: '^\\w[\\w-]*$' } },
  ),
  commands: described(list(command, 'commands').optional(), 'Commands whose output is the evidence of each iteration.'),
  items_per_iteration: described(integer(1, 20).optional(), 'How many items the agent is asked to do in an iteration.'),
  reflect_every: described(
    integer(0, 20)
      .refine((every) => every !== 1, { error: 'must be 0 (off), or from 2 to 20', params: { rule: 'range' } })
      .optional(),
    'The agent is asked to reflect in every so many iterations, 2 to 20; 0, the default, is never.',
    { not: { const: 1 } },
  ),
  completion_gate: described(
    choice('required', 'optional', 'disabled').optional(),
    'What a claim of completion has to pass. required by default where completion_promise is set, else disabled.',
  ),
  required_outputs: described(
    list(ruledText('must be a path', 'relative-path', relativePathProblem), 'paths').optional(),
    'Files that a required gate wants to see, relative to the task folder (of a PROMPT.md: to the project).',
    { items: { type: 'string', pattern: '^(?!/)(?!.*(^|/)\\.{1,2}(/|$))[^\\\\]*[^/\\\\]$' } },
  ),
  open_questions: described(
    choice('required', 'optional').optional(),
    'Whether a required gate needs an OPEN_QUESTIONS.md; optional by default in a PROMPT.md, else required.',
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

/** Schema of a frontmatter, durations in milliseconds. `canonicalKeys` handles aliases and unknown keys. */
export function frontmatterSchema(cap = BY_FILE.prompt.iterationCap) {
  return z.strictObject({ ...KEYS, max_iterations: maxIterations(cap) });
}

export function publishedFrontmatter(kind: TaskKind): z.ZodType {
  const file = kind === 'ralph-md' ? 'RALPH.md' : kind === 'checklist' ? 'task.md' : 'PROMPT.md';
  return frontmatterSchema(BY_FILE[kind].iterationCap).meta({ title: `Frontmatter of a ${file}` });
}

function maxIterations(cap: number) {
  return described(integer(1, cap).optional(), `Working iterations that the agent gets, 1 to ${cap}.`);
}

export type Frontmatter = z.output<ReturnType<typeof frontmatterSchema>>;
export type ValidationEntry = NonNullable<Frontmatter['validation']>[number];
export type CommandEntry = z.output<typeof command>;
