import type { OptionDefinition } from '../command.ts';

type Options = Readonly<Record<string, OptionDefinition>>;

/** Which task, for every command that begins a loop. */
export const TASK_OPTIONS: Options = {
  task: {
    type: 'string',
    value: 'PATH',
    help: 'A task folder with a RALPH.md or a task.md, or a task file; without it .claude/ralph/PROMPT.md.',
  },
  path: { type: 'string', value: 'PATH', help: 'The same as --task.' },
  tdd: {
    type: 'boolean',
    help: 'Work by tests first, over the scenarios of ralph-loop tdd init; without --task by .claude/ralph/TDD.md.',
  },
  input: {
    type: 'string',
    value: 'FILE',
    help: 'What the skill is given, as JSON by schemas/input.schema.json; "-" is standard input. Options win over it.',
  },
  arg: {
    type: 'string',
    multiple: true,
    value: 'NAME=VALUE',
    help: 'A value for an argument that the task folder declares.',
  },
};

/** How the loop is to be, for every command that begins one: see start-flags.ts. */
export const SETTING_OPTIONS: Options = {
  'max-iterations': {
    type: 'string',
    value: 'N',
    help: 'Iterations the agent gets, 1 to 100; for a task folder 1 to 50.',
  },
  'max-time': { type: 'string', value: 'DURATION', help: 'All the time the loop gets, such as 8h: budget.max_time.' },
  'max-cost': { type: 'string', value: 'DOLLARS', help: 'All that the loop may cost: budget.max_cost.' },
  'max-tokens': { type: 'string', value: 'N', help: 'All the tokens the loop gets: budget.max_tokens.' },
  'permission-mode': {
    type: 'string',
    value: 'MODE',
    help: "The client's permission mode; needed where nobody sits at its terminal.",
  },
  model: { type: 'string', value: 'NAME', help: "The client's model." },
  effort: { type: 'string', value: 'LEVEL', help: "The client's effort." },
  'reflect-every': {
    type: 'string',
    value: 'N',
    help: 'Ask the agent to reflect in every N-th iteration, 2 to 20; 0 is never. For task folders and checklists.',
  },
  set: {
    type: 'string',
    multiple: true,
    value: 'KEY=VALUE',
    help: 'Any setting of the frontmatter: --set idle.delay=10s.',
  },
};
