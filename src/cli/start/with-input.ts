import { resolve } from 'node:path';
import type { SkillInput } from '../../engine/schema/skill-contract.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { printable } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { readTaskText } from '../choose-loop.ts';
import { type CommandContext, valuesOf } from '../command.ts';
import { readInput } from '../read-input.ts';

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
