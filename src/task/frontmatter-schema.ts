import * as z from 'zod';
import { promiseProblem, signalProblem } from './claim-problem.ts';
import {
  choice,
  duration,
  flag,
  integer,
  line,
  list,
  numberAbove,
  numberFrom,
  ruledText,
} from './frontmatter-leaves.ts';
import { iterationLimits } from './policy-defaults.ts';
import { relativeGlobProblem, relativePathProblem } from './relative-path-problem.ts';

const POLICIES = ['policy:secret-bearing-paths'];

const run = ruledText('must be a command', 'not-blank', (text) => (text.trim() === '' ? 'must not be blank' : null));

const validationEntry = z.union(
  [run, z.strictObject({ name: line().optional(), run, timeout: integer(1, 3600).optional() })],
  { error: 'must be a command, or a mapping with run, name and timeout' },
);

const idle = z.strictObject(
  {
    delay: duration('positive').optional(),
    backoff: numberFrom(1).optional(),
    max_delay: duration('positive').optional(),
    max: duration('positive').optional(),
    wake: choice('time', 'change').optional(),
    watch: list(ruledText('must be a glob', 'relative-path', relativeGlobProblem), 'globs').optional(),
    max_quiet: duration('positive').optional(),
  },
  { error: 'must be a mapping with delay, backoff, max_delay, max, wake, watch, max_quiet' },
);

const breaker = z.strictObject(
  {
    findings: integer(0).optional(),
    no_progress: integer(0).optional(),
    same_reply: integer(0).optional(),
    same_error: integer(0).optional(),
    denials: integer(0).optional(),
    tdd: integer(0).optional(),
  },
  { error: 'must be a mapping with findings, no_progress, same_reply, same_error, denials, tdd' },
);

const budget = z.strictObject(
  {
    max_cost: numberAbove(0).optional(),
    max_tokens: integer(1).optional(),
    max_time: duration('positive').optional(),
    warn_at: numberFrom(0, 1).optional(),
  },
  { error: 'must be a mapping with max_cost, max_tokens, max_time, warn_at' },
);

const guardrails = z.strictObject(
  {
    private_files: list(
      ruledText('must be a glob or a policy', 'glob', privateFileProblem),
      'globs and policies',
    ).optional(),
    strict: flag().optional(),
  },
  { error: 'must be a mapping with private_files, strict' },
);

/** The keys of every task file. The keys that only a RALPH.md has belong in a record of their own beside this one. */
const SHARED_KEYS = {
  validation: list(validationEntry, 'commands').optional(),
  completion_signal: ruledText('must be a text', 'completion-signal', signalProblem).optional(),
  completion_promise: ruledText('must be a text', 'completion-promise', promiseProblem).optional(),
  signal_match: choice('line', 'anywhere').optional(),
  reinject: choice('auto', 'reason', 'context', 'pointer').optional(),
  idle: idle.optional(),
  breaker: breaker.optional(),
  budget: budget.optional(),
  background_wait: duration('zero-too').optional(),
  agent: line().optional(),
  model: line().optional(),
  effort: line().optional(),
  permission_mode: line().optional(),
  isolation: choice('project', 'client').optional(),
  guardrails: guardrails.optional(),
  findings_log: ruledText('must be a path', 'relative-path', relativePathProblem).optional(),
};

/**
 * The frontmatter of a task file whose loop may get at most `cap` iterations. Durations come out as milliseconds. Aliases and unknown
 * keys are dealt with before (see read-settings.ts).
 */
export function frontmatterSchema(cap = iterationLimits('prompt').cap) {
  return z.strictObject({ ...SHARED_KEYS, max_iterations: integer(1, cap).optional() });
}

export type Frontmatter = z.output<ReturnType<typeof frontmatterSchema>>;
export type ValidationEntry = NonNullable<Frontmatter['validation']>[number];

function privateFileProblem(glob: string): string | null {
  if (glob.trim() === '') return 'must not be blank';
  if (!glob.startsWith('policy:') || POLICIES.includes(glob)) return null;
  return `must name a known policy (${POLICIES.join(', ')})`;
}
