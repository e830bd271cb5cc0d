import type { CommandDefinition, Contract, TaskTerms } from '../../engine/schema/contract.ts';
import { CONTRACT_VERSION, contract as schema } from '../../engine/schema/contract.ts';
import { hashContract } from '../../state/hash-contract.ts';
import type { StoredContract } from '../../state/loop-files.ts';
import { RalphError } from '../../text/message.ts';
import { type CommandValues, fillCommand } from '../commands/fill-command.ts';
import { ARGUMENT_NAME } from '../frontmatter/key-problems.ts';
import type { ValidationEntry } from '../frontmatter/schema.ts';
import { contractPins } from '../pinned-scripts/contract-scripts.ts';
import { pinPrograms } from '../pinned-scripts/pinned-programs.ts';
import { COMMAND_TIMEOUT_SECONDS, VALIDATION_TIMEOUT_SECONDS } from './defaults.ts';
import type { TaskSettings } from './read-values.ts';

export interface ContractTerms extends Omit<Contract, 'contractVersion' | 'validation' | 'evidence' | keyof Pins> {
  readonly validation: readonly ValidationEntry[];
  /** Pins fixed earlier; absent: they are read in the project. */
  readonly pins?: Pins;
}

type Pins = Pick<Contract, 'scripts' | 'watched' | 'programs'>;

/** Builds the contract of a new loop, which lists no evidence yet. Throws `task-invalid` for duplicate command names. */
export function buildContract({ pins, ...terms }: ContractTerms): StoredContract {
  const validation = normaliseValidation(terms.validation);
  const pinned = pins ?? readPins(terms);
  const contract = schema.parse({ ...terms, contractVersion: CONTRACT_VERSION, validation, evidence: {}, ...pinned });
  return { hash: hashContract(contract), contract };
}

/** Reads the project's files on which the checks rest. */
export function readPins(terms: Omit<ContractTerms, 'loopId'>): Pins {
  const validation = normaliseValidation(terms.validation);
  const { scripts, watched, programs: names } = contractPins({ ...terms, validation });
  const programs = pinPrograms(names, terms.environment ?? {});
  return {
    scripts,
    ...(Object.keys(watched).length > 0 && { watched }),
    ...(names.length > 0 && terms.environment && { programs }),
  };
}

const MAX_NAME = 60;

/** Names unnamed commands after what they run, with a number if needed. Throws `task-invalid` for duplicates. */
export function normaliseValidation(entries: readonly ValidationEntry[]): CommandDefinition[] {
  const taken = new Set<string>();
  for (const entry of entries) {
    const name = typeof entry === 'string' ? undefined : entry.name;
    if (name === undefined) continue;
    if (taken.has(name))
      throw new RalphError('task-invalid', `two validation commands are named "${name}": give each a unique name.`);
    taken.add(name);
  }
  return entries.map((entry) => {
    const { run, name, timeout } = typeof entry === 'string' ? { run: entry } : entry;
    return { name: name ?? freeName(run, taken), run, timeoutSeconds: timeout ?? VALIDATION_TIMEOUT_SECONDS };
  });
}

function freeName(run: string, taken: Set<string>): string {
  const whole = run.trim().split(/\s+/).join(' ');
  const base = whole.length > MAX_NAME ? `${whole.slice(0, MAX_NAME - 1).trimEnd()}…` : whole;
  let name = base;
  for (let copy = 2; taken.has(name); copy++) name = `${base} (${copy})`;
  taken.add(name);
  return name;
}

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
