import type { TaskTerms } from '../../engine/schema/contract.ts';
import { RalphError } from '../../text/message.ts';
import { type CommandValues, fillCommand } from '../commands/fill-command.ts';
import { ARGUMENT_NAME } from '../frontmatter/key-problems.ts';
import { COMMAND_TIMEOUT_SECONDS } from './defaults.ts';
import type { TaskSettings } from './read-values.ts';

export function taskTerms(settings: TaskSettings, values: CommandValues): TaskTerms {
  const { commands, gate, requiredOutputs, itemsPerIteration, reflectEvery, openQuestions, timeoutSeconds } = settings;
  return {
    args: values.args,
    commands: commands.map(({ name, run, timeout, acceptance }) => ({
      name,
      run: fillCommand(run, values),
      timeoutSeconds: timeout ?? Math.min(COMMAND_TIMEOUT_SECONDS, timeoutSeconds ?? COMMAND_TIMEOUT_SECONDS),
      acceptance: acceptance ?? false,
      directory: run.trimStart().startsWith('./') ? 'task' : 'project',
    })),
    gate,
    requiredOutputs: [...requiredOutputs],
    itemsPerIteration,
    reflectEvery,
    ...(openQuestions === 'optional' && { openQuestions }),
  };
}

export function argumentProblems(declared: readonly string[], given: Readonly<Record<string, string>>): string[] {
  const known = declared.length === 0 ? 'it declares none' : `it declares ${declared.join(', ')}`;
  const problems: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (!declared.includes(name)) {
      problems.push(`--arg ${name}: the task file has no argument of this name under "args:" (${known}).`);
    } else if (value.includes('\0')) problems.push(`--arg ${name}: a value cannot hold a NUL character.`);
  }
  for (const name of declared) {
    if (!Object.hasOwn(given, name))
      problems.push(`the argument "${name}" has no value. Give it: --arg ${name}=VALUE.`);
  }
  return problems;
}

/** Reads the arguments of a command line. Throws `usage`. */
export function readArguments(pairs: readonly string[]): Readonly<Record<string, string>> {
  const args: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at === -1) throw new RalphError('usage', `--arg ${pair}: write it as name=value.`);
    const name = pair.slice(0, at);
    if (!ARGUMENT_NAME.test(name) || name === '__proto__') {
      const rule = 'letters, digits, "_" and "-", not beginning with "-"';
      throw new RalphError('usage', `--arg ${pair}: "${name}" is not a valid argument name: ${rule}.`);
    }
    if (Object.hasOwn(args, name))
      throw new RalphError('usage', `--arg ${name} was given twice. Give each argument once.`);
    args[name] = pair.slice(at + 1);
  }
  return args;
}
