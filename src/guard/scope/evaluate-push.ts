import { currentBranch, type GitSettings, settingsOf } from '../git-repository.ts';
import { type Denial, deny, type TaskScope } from '../guard.ts';
import { pushDenied } from '../messages.ts';
import { gitWords, literal, programName, subcommandWords } from '../shell/program-words.ts';
import { type ShellCommand, type ShellReading, type ShellWord, UNKNOWN } from '../shell/shell-reading.ts';
import { splitOptions } from '../shell/words.ts';

const VALUES = '-o --push-option --repo --receive-pack --exec --recurse-submodules -P --prefix';
const MANY = ['--all', '--branches', '--mirror'];
/** Branch that cannot be determined and may be protected. */
const ANY = '*';

/** Denies a push to a branch that is not for the agent, whether written out or implied by current settings. */
export function evaluatePush(reading: ShellReading, { noPushTo }: TaskScope, projectDir: string): Denial | null {
  if (noPushTo.length === 0) return null;
  const commands = [...reading.commands, ...reading.opened];
  const changed = commands.flatMap(settingsChanged);
  for (const command of commands) {
    const branch = pushedTo(command, noPushTo, projectDir, changed);
    if (branch !== null) return deny('push-main', pushDenied(branch));
  }
  return null;
}

type Setting = readonly [key: string, value: string];

/** Returns the settings that `git config KEY VALUE` sets in the same command. */
function settingsChanged(command: ShellCommand): Setting[] {
  if (programName(command) !== 'git') return [];
  const [subcommand, ...words] = subcommandWords(command) ?? [];
  if (subcommand?.template !== 'config') return [];
  const [key, value] = splitOptions(words, '-f --file --type').operands.filter(({ template }) => template !== 'set');
  return key === undefined || value === undefined ? [] : [[key.template, value.template]];
}

/** Returns the settings of this call by `-c`, `--config-env` and the environment, followed by those of the repository. */
function settingsFor(command: ShellCommand, directory: string, changed: readonly Setting[]): GitSettings {
  const variables = new Map(command.assignments.map(({ name, value }) => [name, [{ template: value ?? UNKNOWN }]]));
  const settings = new Map(settingsOf(directory));
  for (const [key, value] of [...changed, ...gitWords(command.argv, variables).settings]) {
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
): string | null {
  if (programName(command) !== 'git') return null;
  const directory = command.cwd ?? projectDir;
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
      ? refspecs.flatMap((each) => (each === null ? [ANY] : targetsOf(each, noPushTo, directory)))
      : byDefault(settings, noPushTo, directory);
  const found = targets.find((each) => each === ANY || (each !== null && noPushTo.includes(each)));
  return found === ANY ? 'a branch that is known only at run time' : (found ?? null);
}

function unaliased(words: readonly ShellWord[], settings: GitSettings): readonly ShellWord[] {
  const alias = settings.get(`alias.${words[0]?.template.toLowerCase() ?? ''}`)?.at(-1);
  if (alias === undefined || alias.startsWith('!')) return words;
  const meant = alias.trim().split(/\s+/);
  return [...meant.map((text) => ({ text, template: text, source: text })), ...words.slice(1)];
}

/** Returns the targets of a push without a refspec: by remote.*.mirror, remote.*.push, push.default and the branch's upstream. */
function byDefault(settings: GitSettings, kept: readonly string[], directory: string): readonly (string | null)[] {
  const all = (pattern: RegExp): string[] =>
    [...settings].flatMap(([key, values]) => (pattern.test(key) ? values : []));
  if (all(/^remote\..*\.mirror$/).some((value) => value !== 'false')) return kept;
  const refspecs = all(/^remote\..*\.push$/);
  if (refspecs.length > 0)
    return refspecs.flatMap((each) => (each.includes(UNKNOWN) ? [ANY] : targetsOf(each, kept, directory)));
  const mode = settings.get('push.default')?.at(-1) ?? 'simple';
  if (mode === 'matching') return kept;
  if (!/^(nothing|current|upstream|tracking|simple)$/.test(mode)) return [ANY];
  const branch = currentBranch(directory);
  const merges = settings.get(`branch.${branch}.merge`) ?? [];
  return [branch, ...merges.map((merge) => (merge.includes(UNKNOWN) ? ANY : merge.replace(/^refs\/heads\//, '')))];
}

/** Returns the branches that a refspec pushes to; for a glob or a lone colon, the protected ones. */
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
