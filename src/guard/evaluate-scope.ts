import { resolve } from 'node:path';
import { inScope, isGlob } from '../engine/plan/task-order.ts';
import { namedPlainly } from './files/evaluate-files.ts';
import { simpleGlob } from './files/path-pattern.ts';
import { newBudget, type Reached, reachedByTool, reachedPaths } from './files/reached-paths.ts';
import { currentBranch, type GitSettings, settingsOf } from './git-repository.ts';
import { type Denial, deny, type Guard, type TaskScope, type ToolCall } from './guard.ts';
import { pushDenied, scopeDenied } from './messages.ts';
import { gitWords, literal, programName, subcommandWords } from './shell/program-words.ts';
import { type ShellCommand, type ShellReading, type ShellWord, UNKNOWN } from './shell/shell-reading.ts';
import { literalOrNull } from './shell/shell-state.ts';
import { splitOptions } from './shell/words.ts';

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
  // Files that git restores are not the agent's changes, and a link leaves its source unchanged.
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
 * Returns a test for paths: allowed in the scope, in a folder that tools fill, outside the project, and if known only at run
 * time. A folder above the scope may be written to by name (`cp x src/`) but not removed.
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

/** Denies a push to a branch that is not for the agent, whether written out or implied by current settings. */
function evaluatePush(reading: ShellReading, { noPushTo }: TaskScope, projectDir: string): Denial | null {
  if (noPushTo.length === 0) return null;
  const commands = [...reading.commands, ...reading.opened];
  for (const command of commands) {
    const isEarlier = ({ position }: { readonly position: number }): boolean => position <= command.position;
    const earlier = commands.filter((each) => each !== command && isEarlier(each));
    const written = reading.writes.filter(isEarlier).map(({ word }) => word.template);
    const changed = [...earlier.flatMap(settingsChanged), ...turnedBy([...reading.assigned, ...written])];
    const branch = pushedTo(command, noPushTo, projectDir, changed, earlier.flatMap(branchesMeant));
    if (branch !== null) return deny('push-main', pushDenied(branch));
  }
  return null;
}

type Setting = readonly [key: string, value: string];

/** Variables and files that give git other settings or another repository. */
const TURNS =
  /^(?:GIT_(?:DIR|WORK_TREE|COMMON_DIR|CONFIG|CONFIG_GLOBAL|CONFIG_SYSTEM)|HOME|XDG_CONFIG_HOME)=|^--git-dir\b|(?:^|\/)(?:\.gitconfig|git\/config|\.git\/(?:HEAD|config(?:\.worktree)?))$/;

/** Marks a push whose destination cannot be determined. */
function turnedBy(texts: readonly string[]): Setting[] {
  return texts.some((text) => TURNS.test(text)) ? [['push.default', UNKNOWN]] : [];
}

const textsOf = (words: readonly ShellWord[]): string[] => words.map(({ template }) => template);

/** `git config KEY VALUE`, `git remote add --mirror`, `export GIT_DIR=x` in the same command. */
function settingsChanged(command: ShellCommand): Setting[] {
  if (programName(command) !== 'git') return command.opened === true ? turnedBy(textsOf(command.argv)) : [];
  const [subcommand, ...words] = subcommandWords(command) ?? [];
  if (subcommand?.template === 'remote' && textsOf(words).some((text) => /^--mirror(=push)?$/.test(text)))
    return [['remote.x.mirror', 'true']];
  if (subcommand?.template !== 'config') return [];
  const [key, value] = splitOptions(words, '-f --file --type').operands.filter(({ template }) => template !== 'set');
  return key === undefined || value === undefined ? [] : [[key.template, value.template]];
}

/** Returns the branches that a command may check out or set as an upstream: all that it names. */
function branchesMeant(command: ShellCommand): string[] {
  const [verb = '', ...texts] = programName(command) === 'git' ? textsOf(subcommandWords(command) ?? []) : [];
  const moves = /^(-[a-zA-Z]*[mMcCut]|--(move|copy|track|set-upstream-to))/;
  const turns =
    verb === 'branch'
      ? texts.some((text) => moves.test(text))
      : /^(switch|checkout|symbolic-ref)$/.test(verb) && !texts.includes('--');
  return (turns ? texts : []).flatMap((text) => {
    const name = text.replace(/^(?:--set-upstream-to=|-u(?=.))/, '').replace(/^refs\/(?:heads|remotes)\//, '');
    if (name.includes(UNKNOWN) || name === '-' || name.includes('@{')) return [ANY];
    return name.startsWith('-') ? [] : [name, name.replace(/^[^/]*\//, '')];
  });
}

/** Returns the settings of this call by `-c`, `--config-env` and the environment, followed by those of the repository. */
function settingsFor(command: ShellCommand, directory: string, changed: readonly Setting[]): GitSettings {
  const variables = new Map(command.assignments.map(({ name, value }) => [name, [{ template: value ?? UNKNOWN }]]));
  const settings = new Map(settingsOf(directory));
  const own = [...gitWords(command.argv, variables).settings];
  const turned = turnedBy([...[...variables.keys()].map((name) => `${name}=`), ...textsOf(command.argv)]);
  const included = [...changed, ...own].some(([key]) => /^include/i.test(key)) ? turnedBy(['HOME=']) : [];
  for (const [key, value] of [...changed, ...own, ...turned, ...included]) {
    const [, section = '', middle = '', name = ''] = /^([^.]*)\.(?:(.*)\.)?([^.]*)$/s.exec(key) ?? [];
    const of = [...settings.keys()].find((each) => each.toLowerCase() === key.toLowerCase());
    const whole =
      middle === '' ? `${section}.${name}`.toLowerCase() : `${section.toLowerCase()}.${middle}.${name.toLowerCase()}`;
    settings.set(of ?? whole, [value]);
  }
  return settings;
}

function pushedTo(
  command: ShellCommand,
  noPushTo: readonly string[],
  projectDir: string,
  changed: readonly Setting[],
  meant: readonly string[],
): string | null {
  if (programName(command) !== 'git') return null;
  const directory = resolve(literalOrNull(command.cwdTemplate) ?? projectDir, gitWords(command.argv).directory ?? '.');
  const settings = settingsFor(command, directory, changed);
  const words = unaliased(subcommandWords(command) ?? [], settings);
  const verb = words[0] === undefined ? '' : literal(words[0]);
  const isSubtree = verb === 'subtree' && words[1]?.template === 'push';
  if (!isSubtree && !/^(push|send-pack|http-push)$/.test(verb ?? '')) return null;
  const { options, operands } = splitOptions(words.slice(isSubtree ? 2 : 1), VALUES);
  const every = `every branch, ${noPushTo.join(' and ')} among them`;
  if (options.some(({ name }) => MANY.includes(name))) return every;
  const refspecs = operands.slice(1).map(literal);
  const targets =
    refspecs.length > 0
      ? refspecs.flatMap((each) => (each === null ? [ANY] : targetsOf(each, noPushTo, directory, meant)))
      : verb === 'send-pack'
        ? noPushTo
        : [...byDefault(settings, noPushTo, directory), ...meant];
  const found = targets.find((each) => each === ANY || noPushTo.includes(each));
  return found === ANY ? 'a branch that is known only at run time' : (found ?? null);
}

function unaliased(words: readonly ShellWord[], settings: GitSettings): readonly ShellWord[] {
  const alias = settings.get(`alias.${words[0]?.template.toLowerCase() ?? ''}`)?.at(-1);
  if (alias === undefined || alias.startsWith('!')) return words;
  const meant = alias.trim().split(/\s+/);
  return [...meant.map((text) => ({ text, template: text, source: text })), ...words.slice(1)];
}

/** Returns the targets of a push without a refspec: by remote.*.mirror, remote.*.push, push.default and the branch's upstream. */
function byDefault(settings: GitSettings, kept: readonly string[], directory: string): readonly string[] {
  const mode = settings.get('push.default')?.at(-1) ?? 'simple';
  if (!/^(nothing|current|upstream|tracking|simple|matching)$/.test(mode)) return [ANY];
  const all = (pattern: RegExp): string[] =>
    [...settings].flatMap(([key, values]) => (pattern.test(key) ? values : []));
  if (all(/^remote\..*\.mirror$/).some((value) => value !== 'false')) return kept;
  const refspecs = all(/^remote\..*\.push$/);
  if (refspecs.length > 0)
    return refspecs.flatMap((each) => (each.includes(UNKNOWN) ? [ANY] : targetsOf(each, kept, directory)));
  if (mode === 'matching') return kept;
  const branch = currentBranch(directory) ?? ANY;
  const merges = settings.get(`branch.${branch}.merge`) ?? [];
  return [branch, ...merges.map((merge) => (merge.includes(UNKNOWN) ? ANY : merge.replace(/^refs\/heads\//, '')))];
}

/** Returns the branches that a refspec pushes to; for a glob or a lone colon, the protected ones. */
function targetsOf(
  refspec: string,
  kept: readonly string[],
  directory: string,
  meant: readonly string[] = [],
): readonly string[] {
  const plain = refspec.replace(/^\+/, '');
  if (plain === ':') return kept;
  const named = plain.includes(':') ? plain.slice(plain.lastIndexOf(':') + 1) : plain;
  if (named === 'HEAD' || named === '@') return [currentBranch(directory) ?? ANY, ...meant];
  const branch = named.replace(/^(?:refs\/)?heads\//, '');
  const [begin = '', end] = branch.split('*');
  return end === undefined
    ? [branch]
    : kept.filter((each) => begin === 'refs/' || (each.startsWith(begin) && each.endsWith(end)));
}
