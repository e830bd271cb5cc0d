import { resolve } from 'node:path';
import { inScope, isGlob } from '../engine/plan/task-order.ts';
import { namedPlainly } from './files/evaluate-files.ts';
import { simpleGlob } from './files/path-pattern.ts';
import { newBudget, type Reached, reachedByTool, reachedPaths } from './files/reached-paths.ts';
import { currentBranch, settingsOf } from './git-repository.ts';
import { type Denial, deny, type Guard, type TaskScope, type ToolCall } from './guard.ts';
import { pushDenied, scopeDenied } from './messages.ts';
import type { ShellCommand, ShellReading, ShellWord } from './shell/shell-reading.ts';
import { literalOrNull } from './shell/shell-state.ts';
import { gitWords, literal, programName, splitOptions, subcommandWords, wordOf } from './shell/words.ts';

/** Denies a push, and a shell command with a recognised write, outside the scope of the current task; null otherwise. */
export async function evaluateShellScope(
  reading: ShellReading,
  guard: Guard,
  scope: TaskScope,
): Promise<Denial | null> {
  const pushed = evaluatePush(reading, scope, guard.rules.projectDir);
  if (pushed !== null || reading.writes.length + reading.named.length === 0) return pushed;
  const allows = await allowedBy(scope, guard);
  const budget = newBudget();
  // Files that git restores are not changes by the agent, and making a link leaves its source unchanged.
  for (const use of reading.writes.filter(({ how }) => !/^(?:git-|link-source$|read$)/.test(how))) {
    const isRemoved = use.how === 'delete' || use.how === 'move' || use.recursive === true;
    const outside = reachedPaths(use, guard, budget).find((each) => each.sought !== true && !allows(each, isRemoved));
    if (outside !== undefined)
      return deny('scope', scopeDenied(outside.shown, use.by || 'this redirection', scope.task));
  }
  const named = namedPlainly(reading, guard, budget, false).find((each) => !allows(each, false));
  return named === undefined ? null : deny('scope', scopeDenied(named.shown, named.by, scope.task));
}

/** Denies a call of a file tool outside the scope of the current task; null otherwise. */
export async function evaluateToolScope(call: ToolCall, guard: Guard, scope: TaskScope): Promise<Denial | null> {
  const allows = await allowedBy(scope, guard);
  const outside = reachedByTool(call, guard, newBudget(), true).reached.find((each) => !allows(each, true));
  return outside === undefined ? null : deny('scope', scopeDenied(outside.shown, call.tool, scope.task));
}

/**
 * Returns a test for paths that are allowed: in the scope, in a folder that tools fill, outside the project, or known only
 * at run time. A folder above the scope may be written to by name (`cp x src/`) but not removed.
 */
async function allowedBy(
  { entries, free }: TaskScope,
  guard: Guard,
): Promise<(reached: Reached, isRemoved: boolean) => boolean> {
  const { caseInsensitive } = guard.rules;
  const wanted = caseInsensitive ? entries.map((entry) => entry.toLowerCase()) : entries;
  const globs = wanted.filter(isGlob).flatMap((entry) => [entry, `${entry}/**`]);
  const known = new Map<string, (path: string) => boolean>();
  for (const glob of globs) {
    known.set(
      glob,
      simpleGlob(glob, caseInsensitive) ??
        (await import('./files/picomatch-glob.ts')).picomatchGlob(glob, caseInsensitive),
    );
  }
  const matches = (glob: string, path: string): boolean => known.get(glob)?.(path) === true;
  const allows = (path: string, isRemoved: boolean): boolean => {
    if (/^(?:\/|[a-zA-Z]:)/.test(path) || path.includes('\ufffd')) return true;
    if (path.split('/').some((segment) => free.includes(segment))) return true;
    if (inScope(path, wanted, matches)) return true;
    const above = path === '.' ? '' : `${path}/`;
    return !isRemoved && wanted.some((entry) => entry.startsWith(above));
  };
  return ({ forms }, isRemoved) => forms.placed.every((path) => allows(path, isRemoved));
}

const VALUES = '-o --push-option --repo --receive-pack --exec --recurse-submodules -P --prefix';
const MANY = ['--all', '--branches', '--mirror', '--stdin'];
/** Branch that cannot be determined and may be protected. */
const ANY = '*';

/** Denies a push to a branch that is closed to the agent, written out or implied by the repository's settings. */
export function evaluatePush(reading: ShellReading, { noPushTo }: TaskScope, projectDir: string): Denial | null {
  if (noPushTo.length === 0) return null;
  const commands = [...reading.commands, ...reading.opened];
  const written = reading.writes.filter(({ word }) => TURNS.test(word.template));
  const turning = [...commands.filter((each) => turnsPush(each, noPushTo)), ...written].map(({ position }) => position);
  const turnedFrom = reading.assigned.some((text) => TURNS.test(text)) ? 0 : Math.min(...turning);
  for (const command of commands) {
    const branch = pushedTo(command, noPushTo, projectDir, turnedFrom <= command.position);
    if (branch !== null) return deny('push-main', pushDenied(branch));
  }
  return null;
}

/** Variables and files that give git other settings or another repository. */
const TURNS =
  /^(?:GIT_(?:DIR|WORK_TREE|COMMON_DIR|CONFIG\w*)|HOME|XDG_CONFIG_HOME)=|^--git-dir\b|(?:^|\/)(?:\.gitconfig|git\/config|\.git\/(?:HEAD|config(?:\.worktree)?))$/;
/** Settings that tell git where to push, or give it another name. */
const PUSH_SETTING = /^(?:alias|push|remote|branch|include\w*)\./i;

/** Options with which `git branch` lists or deletes: git refuses to combine them with those that rename or set. */
const LISTS = /^(?:-[aqrvf]*[dDl][aqrvf]*|--(?:contains|delete|list|merged|no-contains|no-merged|points-at)(?:=.*)?)$/s;

const textsOf = (words: readonly ShellWord[]): string[] => words.map(({ template }) => template);

/** Returns whether this command may redirect a push without a named branch: by settings, or a switch to a kept branch. */
function turnsPush(command: ShellCommand, kept: readonly string[]): boolean {
  const { argv, assignments } = command;
  const isGit = programName(command) === 'git';
  const set = assignments.map(({ name }) => `${name}=`);
  const own = isGit ? [...gitWords(argv).settings.keys()] : [];
  if ([...set, ...(isGit || command.opened ? textsOf(argv) : [])].some((text) => TURNS.test(text))) return true;
  const words = isGit ? (subcommandWords(command) ?? []) : [];
  const [verb = '', ...rest] = textsOf(words);
  // Without a value, the setting is only read.
  const [key = '', value] = textsOf(splitOptions(words.slice(1), '-f --file --type').operands).filter(
    (text) => text !== 'set',
  );
  if ([...own, ...(verb === 'config' && value !== undefined ? [key] : [])].some((each) => PUSH_SETTING.test(each)))
    return true;
  if (verb === 'remote') return rest.some((text) => /^--mirror(?:=push)?$/.test(text));
  if (!/^(?:switch|checkout|symbolic-ref|branch)$/.test(verb) || rest.includes('--')) return false;
  if (verb === 'branch' && rest.some((text) => LISTS.test(text))) return false;
  return rest.some(
    (text) => text === '-' || /\0|@\{/.test(text) || kept.includes(text.replace(/^(?:.*[/=]|-\w)/s, '')),
  );
}

function pushedTo(
  command: ShellCommand,
  noPushTo: readonly string[],
  projectDir: string,
  isTurned: boolean,
): string | null {
  if (programName(command) !== 'git') return null;
  const directory = resolve(literalOrNull(command.cwdTemplate) ?? projectDir, gitWords(command.argv).directory ?? '.');
  const settings = settingsOf(directory);
  const words = unaliased(subcommandWords(command) ?? [], settings);
  const verb = words[0] === undefined ? '' : literal(words[0]);
  const isSubtree = verb === 'subtree' && words[1]?.template === 'push';
  if (!isSubtree && !/^(push|send-pack|http-push)$/.test(verb ?? '')) return null;
  const { options, operands } = splitOptions(words.slice(isSubtree ? 2 : 1), VALUES);
  const every = `every branch, ${noPushTo.join(' and ')} among them`;
  if (options.some(({ name }) => MANY.includes(name))) return every;
  const refspecs = operands.slice(1).map(literal);
  const current = isTurned ? ANY : (currentBranch(directory) ?? ANY);
  const targets =
    refspecs.length > 0
      ? refspecs.flatMap((each) => (each === null ? [ANY] : targetsOf(each, noPushTo, current)))
      : verb === 'send-pack'
        ? noPushTo
        : byDefault(settings, current);
  const found = targets.find((each) => each === ANY || noPushTo.includes(each));
  return found === ANY ? 'a branch that is known only at run time' : (found ?? null);
}

/** Returns the words with an alias of the repository's settings expanded. */
function unaliased(words: readonly ShellWord[], settings: string): readonly ShellWord[] {
  const [, verb] = /^(?!push$)([\w-]+)$/.exec(words[0]?.template ?? '') ?? [];
  if (verb === undefined) return words;
  const aliases = settings.matchAll(new RegExp(`^[ \\t]*${verb}[ \\t]*=(.+)$`, 'gim'));
  const meant = [...aliases].at(-1)?.[1]?.match(/\S+/g);
  return meant ? [...meant.map((text) => wordOf(text)), ...words.slice(1)] : words;
}

/** Settings of a repository that decide where a push without a named branch goes. */
const SAYS_WHERE =
  /^[ \t]*(?:push[ \t]*=|mirror[ \t]*=(?!\s*false)|default[ \t]*=(?!\s*(?:simple|current|nothing|upstream|tracking)))/im;

/** Returns the targets of a push without a refspec: the branch and its upstream. */
function byDefault(settings: string, current: string): readonly string[] {
  if (current === ANY || SAYS_WHERE.test(settings)) return [ANY];
  const section = settings.split(/^[ \t]*\[/m).find((each) => each.startsWith(`branch "${current}"]`)) ?? '';
  return [
    current,
    ...[...section.matchAll(/^[ \t]*merge[ \t]*=[ \t]*(?:refs\/heads\/)?(\S+)/gim)].map(([, name = '']) => name),
  ];
}

/** Returns the branches to which a refspec pushes; for a glob or a lone colon, the protected ones. */
function targetsOf(refspec: string, kept: readonly string[], current: string): readonly string[] {
  const plain = refspec.replace(/^\+/, '');
  if (plain === ':') return kept;
  const named = plain.includes(':') ? plain.slice(plain.lastIndexOf(':') + 1) : plain;
  if (named === 'HEAD' || named === '@') return [current];
  const branch = named.replace(/^(?:refs\/)?heads\//, '');
  const [begin = '', end] = branch.split('*');
  return end === undefined
    ? [branch]
    : kept.filter((each) => begin === 'refs/' || (each.startsWith(begin) && each.endsWith(end)));
}
