import * as z from 'zod';
import { guardedGlobProblem } from './key-problems.ts';
import { PLAN_RULES } from './plan-rules.ts';
import { choice, described, flag, line, list, mapping, optional, patternProblem, ruledText } from './value-types.ts';

const BLOCKED =
  'must be a pattern, or a mapping with command (and args, reason) or with pipeline (and reason), not both';

const pattern = () => ruledText('must be a pattern', 'pattern', patternProblem);
const guardedGlob = () => ruledText('must be a glob or a policy', 'glob', guardedGlobProblem);
const reason = optional(line(), 'Explanation for the model, shown with the rule.');

const blocked = z.union(
  [
    pattern(),
    z.strictObject(
      {
        command: described(line(), 'Name of the program, without its folder. Globs are allowed: git, npm*.'),
        args: optional(
          list(line(), 'words'),
          'The first words after the program, in order; options are skipped. Globs are allowed.',
        ),
        reason,
      },
      { error: BLOCKED },
    ),
    z.strictObject(
      {
        pipeline: described(
          list(line(), 'programs').min(2, { error: 'must have at least two programs' }),
          'The programs of a pipeline, in order; a|b matches either.',
        ),
        reason,
      },
      { error: BLOCKED },
    ),
  ],
  { error: BLOCKED },
);

const shellPolicy = mapping({
  mode: described(choice('allowlist', 'blocklist'), 'allowlist: only commands that "allow" matches may run.'),
  allow: optional(
    list(pattern(), 'patterns'),
    'RE2 patterns. Every simple command of a call must match one of them as a whole.',
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
  shell_policy: optional(shellPolicy, 'An allowlist of shell commands; none by default.'),
  lift: optional(
    list(choice(...PLAN_RULES), 'names of rules'),
    'Plans: names of the default rules that do not apply here.',
  ),
  strict: optional(flag(), 'Also refuse whatever cannot be analysed, such as code for an interpreter.'),
});
