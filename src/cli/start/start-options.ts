import { type OptionDefinition, options } from '../command.ts';

type Options = Readonly<Record<string, OptionDefinition>>;

/** Which task, for every command that begins a loop. */
export const TASK_OPTIONS: Options = options({
  'task PATH': 'A task folder with a RALPH.md or a task.md, or a task file; without it .claude/ralph/PROMPT.md.',
  'path PATH': 'The same as --task.',
  tdd: 'Work by tests first, over the scenarios of ralph-loop tdd init; without --task by .claude/ralph/TDD.md.',
  'input FILE':
    'What the skill is given, as JSON by schemas/input.schema.json; "-" is standard input. Options win over it.',
  'arg NAME=VALUE...': 'A value for an argument that the task folder declares.',
});

/** How the loop is to be, for every command that begins one: see start-flags.ts. */
export const SETTING_OPTIONS: Options = options({
  'max-iterations N': 'Iterations the agent gets, 1 to 100; for a task folder 1 to 50.',
  'max-time DURATION': 'All the time the loop gets, such as 8h: budget.max_time.',
  'max-cost DOLLARS': 'All that the loop may cost: budget.max_cost.',
  'max-tokens N': 'All the tokens the loop gets: budget.max_tokens.',
  'permission-mode MODE': "The client's permission mode; needed where nobody sits at its terminal.",
  'model NAME': "The client's model.",
  'effort LEVEL': "The client's effort.",
  'reflect-every N':
    'Ask the agent to reflect in every N-th iteration, 2 to 20; 0 is never. For task folders and checklists.',
  'set KEY=VALUE...': 'Any setting of the frontmatter: --set idle.delay=10s.',
});
