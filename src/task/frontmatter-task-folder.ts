import * as z from 'zod';
import { choice, described, flag, integer, list, ruledText } from './frontmatter-leaves.ts';
import { nameProblem } from './name-problem.ts';
import { relativePathProblem } from './relative-path-problem.ts';

const name = () => ruledText('must be a name', 'name', nameProblem);

const command = z.strictObject(
  {
    name: described(name(), 'The body shows its output as {{ commands.NAME }}.', { pattern: '^\\w[\\w-]*$' }),
    run: described(
      ruledText('must be a command', 'not-blank', (text) => (text.trim() === '' ? 'must not be blank' : null)),
      'The shell command. One that begins with ./ runs in the task folder, every other one in the project.',
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

/** The keys that only a task folder has, in its RALPH.md or task.md. */
export const TASK_FOLDER_KEYS = {
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
    'Files, relative to the task folder, that a required gate wants to see.',
    { items: { type: 'string', pattern: '^(?!/)(?!.*(^|/)\\.{1,2}(/|$))[^\\\\]*[^/\\\\]$' } },
  ),
};

/** Of these the one that a configuration file may give for every loop: it does nothing where it does not apply. */
export const REFLECT_EVERY = 'reflect_every';

export type CommandEntry = z.output<typeof command>;
