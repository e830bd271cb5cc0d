import * as z from 'zod';
import { choice, described, flag, line, list, ruledText } from './frontmatter-leaves.ts';
import { guardedGlobProblem } from './glob-problem.ts';
import { patternProblem } from './pattern-problem.ts';
import { PLAN_RULES } from './plan/plan-rules.ts';

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

/** The `guardrails` of a frontmatter. What holds between mode and allow is checked apart (see shared-rules.ts). */
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
