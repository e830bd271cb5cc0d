import * as z from 'zod';
import { PLAN_RULES } from '../plan/plan-rules.ts';
import { guardedGlobProblem } from './key-problems.ts';
import { choice, described, flag, line, list, mapping, optional, patternProblem, ruledText } from './value-types.ts';

const BLOCKED =
  'must be a pattern, or a mapping with command (and args, reason) or with pipeline (and reason), not both';

const pattern = () => ruledText('must be a pattern', 'pattern', patternProblem);
const guardedGlob = () => ruledText('must be a glob or a policy', 'glob', guardedGlobProblem);
const reason = optional(line(), 'What the model is told, beside the rule.');

const blocked = z.union(
  [
    pattern(),
    z.strictObject(
      {
        command: described(line(), 'The program, without its folder. Globs are allowed: git, npm*.'),
        args: optional(
          list(line(), 'words'),
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

const shellPolicy = mapping({
  mode: described(choice('allowlist', 'blocklist'), 'allowlist: nothing may run but what "allow" names.'),
  allow: optional(
    list(pattern(), 'patterns'),
    'RE2 patterns. Every simple command of a call must match one of them whole.',
  ),
});

export const guardrails = mapping({
  block_commands: optional(
    list(blocked, 'patterns and rules'),
    'Shell commands that are refused: RE2 patterns, matched anywhere in the command, or precise rules.',
  ),
  protected_files: optional(
    list(guardedGlob(), 'globs and policies'),
    'Files that must not be written: globs, policy:secret-bearing-paths, policy:persistence-paths.',
  ),
  private_files: optional(
    list(guardedGlob(), 'globs and policies'),
    'Files that must not even be read: globs, policy:secret-bearing-paths, policy:persistence-paths.',
  ),
  shell_policy: optional(shellPolicy, 'An allowlist of shell commands. Leave it out to have none.'),
  lift: optional(
    list(choice(...PLAN_RULES), 'names of rules'),
    'Of a plan: what is denied while it runs, and shall be allowed all the same.',
  ),
  strict: optional(flag(), 'Refuse, too, what cannot be decided, such as code given to an interpreter.'),
});
