import { options } from '../command.ts';

/** The task, for every command that starts a loop. */
export const TASK_OPTIONS = options({
  'task PATH': 'A task folder with a RALPH.md or a task.md, or a task file; without it .claude/ralph/PROMPT.md.',
  'path PATH': 'The same as --task.',
  tdd: 'Work by tests first, over the scenarios of ralph-loop tdd init; without --task by .claude/ralph/TDD.md.',
  'input FILE':
    'What the skill is given, as JSON by schemas/input.schema.json; "-" is standard input. Options win over it.',
  'arg NAME=VALUE...': 'A value for an argument that the task folder declares.',
});

/** Execution of a plan, for every command that starts a loop. */
export const PLAN_OPTIONS = options({
  plan: 'The task file is a plan of tasks: one after the other is worked on, verified and committed.',
  'from TASK': 'The task of the plan to begin from: --from "Task 5".',
  'max-tasks N': 'Tasks done before the plan pauses for review, 1 to 100; 5 by default.',
});

/** Settings of the loop, for every command that starts one. */
export const SETTING_OPTIONS = options({
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
