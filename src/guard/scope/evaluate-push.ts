import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Denial, TaskScope } from '../guard-rules.ts';
import { pushDenied } from '../messages.ts';
import { literal, programName, subcommandWords } from '../shell/program-words.ts';
import type { ShellCommand, ShellReading } from '../shell/shell-reading.ts';
import { splitOptions } from '../shell/words.ts';

/** Options of `git push` that take a value of their own. */
const VALUES = '-o --push-option --repo --receive-pack --exec --recurse-submodules';
/** Push more than one branch. */
const MANY = ['--all', '--branches', '--mirror'];

/** Denies a push to a branch that is not for the agent, written out or meant by the repository's own settings. */
export function evaluatePush(reading: ShellReading, { noPushTo }: TaskScope, projectDir: string): Denial | null {
  if (noPushTo.length === 0) return null;
  for (const command of [...reading.commands, ...reading.opened]) {
    const branch = pushedTo(command, noPushTo, projectDir);
    if (branch !== null) return { decision: 'deny', rule: 'push-main', message: pushDenied(branch) };
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

/** Returns the current branch of a directory's repository; null if there is none or it is unknown. Never throws. */
export function currentBranch(directory: string): string | null {
  const git = gitDirectory(directory);
  const head = git === null ? null : textOf(join(git, 'HEAD'));
  return /^ref: refs\/heads\/(.+)$/m.exec(head ?? '')?.[1]?.trim() ?? null;
}

/** The branch that a bare `git push` of the current branch is meant for; null where the configuration names none. */
export function upstreamOf(directory: string): string | null {
  const git = gitDirectory(directory);
  const branch = currentBranch(directory);
  if (git === null || branch === null) return null;
  const common = textOf(join(git, 'commondir'))?.trim();
  const config = textOf(join(common === undefined ? git : resolve(git, common), 'config')) ?? '';
  let inBranch = false;
  let upstream: string | null = null;
  for (const line of config.split(/\r?\n/)) {
    const section = /^\s*\[(.*)\]\s*$/.exec(line)?.[1];
    if (section !== undefined) inBranch = section === `branch "${branch.replace(/["\\]/g, '\\$&')}"`;
    const merge = inBranch ? /^\s*merge\s*=\s*(?:refs\/heads\/)?(.+?)\s*$/i.exec(line)?.[1] : undefined;
    if (merge !== undefined) upstream = merge;
  }
  return upstream;
}

/** The folder of the repository, also of a linked worktree, whose `.git` is a file. */
function gitDirectory(directory: string): string | null {
  for (let at = resolve(directory); ; at = dirname(at)) {
    const path = join(at, '.git');
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return path;
    const link = found?.isFile() ? /^gitdir: (.+)$/m.exec(textOf(path) ?? '')?.[1]?.trim() : undefined;
    if (link !== undefined) return resolve(at, link);
    if (at === dirname(at)) return null;
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null; // what cannot be read names no branch
  }
}
