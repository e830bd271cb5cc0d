import { resolve } from 'node:path';
import type { SkillInput } from '../../engine/schema/skill-contract.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { printable } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { readTaskText } from '../choose-loop.ts';
import { type CommandContext, options, valuesOf } from '../command.ts';
import { readInput } from '../read-input.ts';

export const TASK_OPTIONS = options({
  'task PATH': 'Task folder or file; default: .claude/ralph/PROMPT.md.',
  'path PATH': 'Same as --task.',
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
  'set KEY=VALUE...': 'Any frontmatter setting, such as idle.delay=10s.',
});

/** Fills in missing options from the file of `--input`. Throws `usage` with all problems. */
export async function withInput(context: CommandContext): Promise<CommandContext> {
  const { values, projectDir, env } = context;
  const path = values['input'];
  if (typeof path !== 'string') return context;
  const text = path === '-' ? readInput() : readTaskText(resolve(path), path);
  const { checkInput, evaluateJson, unknownKeys } = await import('../../task/skill-contract/schema-problems.ts');
  const evaluated = evaluateJson(text, `input ${path}`, checkInput);
  if (evaluated.code !== 0) throw new RalphError('usage', printable(evaluated.lines.join('\n')));
  const input = JSON.parse(text.replace(/^\uFEFF/, '')) as SkillInput;
  const unknown = unknownKeys(input);
  if (unknown.length > 0) context.err(`ralph-loop: ignored keys of ${path}: ${printable(unknown.join(', '))}.`);
  const { loop } = input;
  const named = values['loop'] === undefined && loop !== undefined;
  return {
    ...context,
    ...(named && { files: loopFiles(projectDir, loop, env) }),
    values: {
      ...optionsOf(input, values['path'] !== undefined),
      ...values,
      set: [...settingsOf(input), ...valuesOf(context, 'set')],
      arg: argsOf(input, valuesOf(context, 'arg')),
    },
  };
}

function optionsOf(input: SkillInput, hasPath: boolean): CommandContext['values'] {
  const { maxIterations, task, loop, tdd, plan, from, maxTasks } = input;
  const numbers = { 'max-iterations': maxIterations?.toString(), 'max-tasks': maxTasks?.toString() };
  const values = { ...numbers, loop, tdd, plan, from, ...(!hasPath && { task }) };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Returns settings in the form of `--set`; those of the command line come later and take precedence. */
function settingsOf({ completionSignal, circuitBreakerThreshold, settings = {} }: SkillInput): string[] {
  return [
    ...(completionSignal === undefined ? [] : [`completion_signal=${completionSignal}`]),
    ...(circuitBreakerThreshold === undefined ? [] : [`breaker.findings=${circuitBreakerThreshold}`]),
    ...Object.entries(settings).map(([key, value]) => `${key}=${value}`),
  ];
}

function argsOf({ args = {} }: SkillInput, pairs: readonly string[]): string[] {
  const names = pairs.map((pair) => pair.split('=')[0]);
  const own = Object.entries(args).filter(([name]) => !names.includes(name));
  return [...own.map(([name, value]) => `${name}=${value}`), ...pairs];
}
