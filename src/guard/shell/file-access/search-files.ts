import { type SearchedTree, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import type { Call, Stream } from '../shell-state.ts';
import { startsOf } from '../unwrap/unwrap-find.ts';
import { byProgram, everywhere, hasOption, optionValues, type SplitWords, splitOptions, wordOf } from '../words.ts';
import type { FileAccessRule } from './file-access-rule.ts';

const GREP = '-e -f -A -B -C -m -d -D --regexp --file --include --exclude --exclude-dir --max-count --context --color';
const AG = '-A -B -C -G -m -p --ignore --ignore-dir';
const VALUES: Readonly<Record<string, string>> = {
  'grep egrep fgrep zgrep ggrep': GREP,
  rg: '-e -f -A -B -C -m -g -t -T -j -M -r --regexp --file --glob --iglob --type --type-not --max-count --context --replace --sort --max-depth',
  'ag ack': AG,
};
const valuesOf = byProgram(() => VALUES);
/** Pattern for options of rg and ag that disable ignore files. */
const NO_IGNORE = /^(-[uUat]|--unrestricted|--no-ignore.*|--no-config|--all-types|--all-text|--skip-vcs-ignores)$/;
const LISTS = ['-l', '-L', '--files-with-matches', '--files-without-match', '--files'];
/** Options with which rg searches, whatever stands before them. */
const SEARCHES = /^(?:-[lc]|--(?:files-with.*|count.*|json))$/;

interface Search {
  /** Named files and folders; the content of a folder is in `tree`. */
  readonly places: readonly ShellWord[];
  readonly tree: SearchedTree | null;
  readonly lists: boolean;
  /** It lists names without a look into the files. */
  readonly isBlind: boolean;
}

/** Returns the scope of a search: grep reads what it is given, the others the whole tree, hidden files only on request. */
function searchOf({ words, state, stdin }: Pick<Call, 'words' | 'state' | 'stdin'>, name: string): Search {
  const split = splitOptions(words.slice(1), valuesOf(name) ?? '');
  const isGrep = valuesOf(name) === GREP;
  const given = hasOption(split, '-e', '-f', '--regexp', '--file', '--files');
  const places = given ? split.operands : split.operands.slice(1);
  const lists = hasOption(split, ...LISTS);
  const isBlind =
    name === 'rg' && hasOption(split, '--files') && !split.options.some((each) => SEARCHES.test(each.name));
  const isTree = !isGrep || hasOption(split, '-r', '-R', '--recursive', '--dereference-recursive');
  const piped = stdin.kind !== 'none' && places.length === 0;
  if (!isTree || piped) return { places, tree: null, lists, isBlind };
  const unrestricted = split.options.filter(({ name: each }) => each === '-u' || each === '--unrestricted').length;
  const configured = state.variables.has('RIPGREP_CONFIG_PATH');
  const hidden = isGrep || configured || hasOption(split, '--hidden', '-.') || unrestricted > 1;
  const globs = textsOf(split, '--include', '-g', '--glob', '--iglob');
  const free = configured || split.options.some(({ name: each }) => NO_IGNORE.test(each));
  const names = globs.filter((glob) => !glob.startsWith('!')).map((glob) => glob.replace(/^.*\//, ''));
  const left = [
    ...textsOf(split, '--exclude', '--exclude-dir', '--ignore', '--ignore-dir'),
    ...globs.flatMap((glob) => (glob.startsWith('!') ? [glob.slice(1)] : [])),
  ].map((glob) => glob.replace(/^\.?\/+|\/+(\*\*)?$/g, ''));
  const tree: SearchedTree = {
    ...startsOf(places.length > 0 ? places : [wordOf('.')], state.cwd),
    names,
    filesOnly: true,
    ...(left.length > 0 ? { except: everywhere(left) } : {}),
    ...(hidden ? {} : { visible: true as const }),
    ...(isGrep || free ? {} : { ignores: true as const }),
  };
  return { places, tree, lists, isBlind };
}

const search: FileAccessRule = (access) => {
  access.args.forEach(access.explain);
  const name = (access.words[0]?.template ?? '').replace(/^.*\//, '');
  const { places, tree, isBlind } = searchOf(access, name);
  if (isBlind) return;
  for (const word of places) access.read(word);
  if (tree === null) return;
  const { globs = [], ...under } = tree;
  for (const root of tree.roots) access.read({ ...wordOf('\0', '.'), under: { ...under, roots: [root] } });
  if (globs.length > 0) access.read({ ...wordOf('\0', '.'), under: { ...under, roots: [], globs } });
};

/** Rules for grep, rg and the like, which write nothing and read what they search. */
export const searchFiles: Readonly<Record<string, FileAccessRule>> = { [Object.keys(VALUES).join(' ')]: search };

/** Returns the files that a search lists (`grep -rl`, `rg --files`); undefined if it prints lines. */
export function listedBySearch(call: Call, name: string): Stream | undefined {
  if (valuesOf(name) === undefined) return undefined;
  const { places, tree, lists } = searchOf(call, name);
  if (!lists) return undefined;
  if (tree !== null) return { kind: 'literal', text: UNKNOWN, under: tree };
  if (places.some(({ glob }) => glob === true))
    return { kind: 'literal', text: UNKNOWN, under: { ...startsOf(places, call.state.cwd), names: [], maxDepth: 1 } };
  return { kind: 'literal', text: `${places.map(({ template }) => template).join('\n')}\n${UNKNOWN}` };
}

function textsOf(split: SplitWords, ...options: readonly string[]): string[] {
  return optionValues(split, ...options).map(({ template }) => template);
}
