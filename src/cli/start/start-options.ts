import { options } from '../command.ts';

export const TASK_OPTIONS = options({
  'task PATH': 'Task (also: --path); default: .claude/ralph/PROMPT.md.',
  'path PATH': '',
  tdd: 'Work test-first on the scenarios from "tdd init".',
  'input FILE': 'Input as JSON; "-" is standard input.',
  'arg NAME=VALUE...': 'Value of an argument of the task; repeatable.',
});

export const PLAN_OPTIONS = options({
  plan: 'The task file is a plan: do one task after another.',
  'from TASK': 'First task of the plan: --from "Task 5".',
  'max-tasks N': 'Tasks until a review: 1-100, default 5.',
});

export const SETTING_OPTIONS = options({
  'max-iterations N': 'Limit of iterations, 1-100; for task folders 1-50.',
  'max-time DURATION': 'Limit of total time, such as 8h.',
  'max-cost DOLLARS': 'Limit of total cost.',
  'max-tokens N': 'Limit of total tokens.',
  'permission-mode MODE': "The client's permission mode; required if headless.",
  sandbox: 'Confine the agent and every check (sandbox.mode: on).',
  'model NAME': "The client's model.",
  'effort LEVEL': "The client's effort.",
  'reflect-every N': 'Reflect in every Nth iteration, 2-20; 0 is never.',
  'no-baseline': 'Do not run the checks before the first iteration.',
  'no-accept': 'Lock the contract until the loop ends.',
  'set KEY=VALUE...': 'Any frontmatter setting; a list as JSON.',
});
