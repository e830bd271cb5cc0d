import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SkillInput } from '../../engine/schema/skill-contract.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { checkInput, unknownKeys } from '../../task/skill-contract/check-input.ts';
import { evaluateJson } from '../../task/skill-contract/schema-problems.ts';
import { printable } from '../../term/paint.ts';
import { RalphError } from '../../text/ralph-error.ts';
import type { CommandContext } from '../command.ts';
import { readTaskText } from '../task-place.ts';

/**
 * The context with what the file of `--input` says in the place of the options that were not given; as it is without
 * that option. Throws RalphError `usage` with every problem of the input at once, as pre-execute.cjs finds them.
 */
export function withInput(context: CommandContext): CommandContext {
  const { values, projectDir, env } = context;
  const path = values['input'];
  if (typeof path !== 'string') return context;
  const text = path === '-' ? readFileSync(0, 'utf8') : readTaskText(resolve(path), path);
  const judged = evaluateJson(text, `input ${path}`, checkInput);
  if (judged.code !== 0) throw new RalphError('usage', printable(judged.lines.join('\n')));
  const input = JSON.parse(text.replace(/^\uFEFF/, '')) as SkillInput;
  const unknown = unknownKeys(input);
  if (unknown.length > 0) context.err(`ralph-loop: keys of ${path} that do nothing: ${printable(unknown.join(', '))}.`);
  const { loop } = input;
  const named = values['loop'] === undefined && loop !== undefined;
  return {
    ...context,
    ...(named && { files: loopFiles(projectDir, loop, env) }),
    values: {
      ...optionsOf(input, values['path'] !== undefined),
      ...values,
      set: [...settingsOf(input), ...list(values['set'])],
      arg: argsOf(input, values),
    },
  };
}

/** `--path` is another name of `--task`, which would then be given twice. */
function optionsOf(input: SkillInput, hasPath: boolean): CommandContext['values'] {
  const { maxIterations, task, loop, tdd, plan, from, maxTasks } = input;
  return {
    ...(maxIterations !== undefined && { 'max-iterations': String(maxIterations) }),
    ...(task !== undefined && !hasPath && { task }),
    ...(loop !== undefined && { loop }),
    ...(tdd !== undefined && { tdd }),
    ...(plan !== undefined && { plan }),
    ...(from !== undefined && { from }),
    ...(maxTasks !== undefined && { 'max-tasks': String(maxTasks) }),
  };
}

/** As `--set` takes them; what the command line sets comes later, and wins. */
function settingsOf({ completionSignal, circuitBreakerThreshold, settings = {} }: SkillInput): string[] {
  return [
    ...(completionSignal === undefined ? [] : [`completion_signal=${completionSignal}`]),
    ...(circuitBreakerThreshold === undefined ? [] : [`breaker.findings=${circuitBreakerThreshold}`]),
    ...Object.entries(settings).map(([key, value]) => `${key}=${value}`),
  ];
}

function argsOf({ args = {} }: SkillInput, values: CommandContext['values']): string[] {
  const given = list(values['arg']);
  const names = given.map((pair) => pair.split('=')[0]);
  const own = Object.entries(args).filter(([name]) => !names.includes(name));
  return [...own.map(([name, value]) => `${name}=${value}`), ...given];
}

function list(value: CommandContext['values'][string]): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
