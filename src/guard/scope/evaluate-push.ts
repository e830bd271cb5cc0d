import { currentBranch, upstreamOf } from '../git-repository.ts';
import { type Denial, deny, type TaskScope } from '../guard-rules.ts';
import { pushDenied } from '../messages.ts';
import { literal, programName, subcommandWords } from '../shell/program-words.ts';
import type { ShellCommand, ShellReading } from '../shell/shell-reading.ts';
import { splitOptions } from '../shell/words.ts';

const VALUES = '-o --push-option --repo --receive-pack --exec --recurse-submodules';
/** Push more than one branch. */
const MANY = ['--all', '--branches', '--mirror'];

/** Denies a push to a branch that is not for the agent, written out or meant by the repository's own settings. */
export function evaluatePush(reading: ShellReading, { noPushTo }: TaskScope, projectDir: string): Denial | null {
  if (noPushTo.length === 0) return null;
  for (const command of [...reading.commands, ...reading.opened]) {
    const branch = pushedTo(command, noPushTo, projectDir);
    if (branch !== null) return deny('push-main', pushDenied(branch));
  }
  return null;
}

function pushedTo(command: ShellCommand, noPushTo: readonly string[], projectDir: string): string | null {
  if (programName(command) !== 'git') return null;
  const [subcommand, ...words] = subcommandWords(command) ?? [];
  if (subcommand === undefined || literal(subcommand) !== 'push') return null;
  const { options, operands } = splitOptions(words, VALUES);
  if (options.some(({ name }) => MANY.includes(name))) return `every branch, ${noPushTo.join(' and ')} among them`;
  const directory = command.cwd ?? projectDir;
  const refspecs = operands.slice(1).map(literal);
  const targets =
    refspecs.length > 0
      ? refspecs.flatMap((each) => (each === null ? [] : targetsOf(each, noPushTo, directory)))
      : [currentBranch(directory), upstreamOf(directory)];
  return targets.find((each) => each !== null && noPushTo.includes(each)) ?? null;
}

/** The branches that a refspec pushes to; of those that a glob or a colon alone stand for, the ones that are kept. */
function targetsOf(refspec: string, kept: readonly string[], directory: string): readonly (string | null)[] {
  const plain = refspec.replace(/^\+/, '');
  if (plain === ':') return kept;
  const named = plain.includes(':') ? plain.slice(plain.lastIndexOf(':') + 1) : plain;
  if (named === 'HEAD' || named === '@') return [currentBranch(directory)];
  const branch = named.replace(/^(?:refs\/)?heads\//, '');
  const [begin = '', end] = branch.split('*');
  return end === undefined
    ? [branch]
    : kept.filter((each) => begin === 'refs/' || (each.startsWith(begin) && each.endsWith(end)));
}
