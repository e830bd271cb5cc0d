import { type SearchedTree, type ShellCommand, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import { type Call, fromCwd, type ShellContext, type ShellState, type Stream } from '../shell-state.ts';
import { startsOf } from '../unwrap/unwrap-find.ts';
import type { SplitWords } from '../words.ts';
import {
  basenameOf,
  byProgram,
  commandsOfOptions,
  everywhere,
  hasOption,
  optionValues,
  splitOptions,
  takesInput,
  wordOf,
} from '../words.ts';
import { ARCHIVERS, COPIERS, FETCHERS } from './copiers.ts';
import { type AccessRecorder, type FileAccessRule, recordRead, recordWrite } from './file-access-rule.ts';
import { git } from './git.ts';
import { filesOf, PROGRAMS, ROWS } from './programs.ts';

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
/** Options that make rg search, whatever precedes them. */
const SEARCHES = /^(?:-[lc]|--(?:files-with.*|count.*|json))$/;

interface Search {
  /** Named files and folders; the content of folders is in `tree`. */
  readonly places: readonly ShellWord[];
  readonly tree: SearchedTree | null;
  readonly lists: boolean;
  /** True if it lists names without reading the files. */
  readonly isBlind: boolean;
}

/** Returns the scope of a search: grep reads what it is given, others the whole tree, hidden files only on request. */
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
const searchFiles: Readonly<Record<string, FileAccessRule>> = { [Object.keys(VALUES).join(' ')]: search };

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

const rowOf = byProgram(() => ROWS);
const ruleByName = byProgram<FileAccessRule>(
  ...[PROGRAMS, searchFiles, COPIERS, FETCHERS, ARCHIVERS, { git }].map((table) => () => table),
);

/** Records the paths that a command reads and writes through its arguments, and the words that no rule explains. */
export function recordFileAccess(command: ShellCommand, call: Call, context: ShellContext): void {
  const explained = new Set<string>();
  const access = recorderIn(call.state, command, call, context, explained);
  const rule = ruleOf(command.name);
  rule?.(access);
  const isTrusted =
    isOfSystem(command.path) &&
    !['PATH', 'LD_PRELOAD'].some((each) => call.state.variables.has(each)) &&
    commandsOfOptions(command.name, call.words).length === 0;
  const wrapped = rule === undefined ? wrappedWriter(command) : null;
  if (wrapped !== null) {
    const name = basenameOf(wrapped[0]?.template ?? '');
    ruleOf(name)?.(recorderIn(call.state, { ...command, name }, { ...call, words: wrapped }, context, new Set()));
  }
  const unread = access.args.filter(({ source }) => !explained.has(source));
  const inputs = unread.map(({ content = '' }) => content);
  if (unread.some(({ template }) => takesInput(template)) || (rule === undefined && !FOR_READERS.test(call.stdin.text)))
    inputs.push(call.stdin.text);
  const words = [
    ...access.args.filter(({ source, template }) => !isTrusted || !explained.has(source) || LONG_OPTION.test(template)),
    ...call.assignments.flatMap(({ words: values }) => values.map(({ template }) => wordOf(template))),
    ...inputs.filter((text) => text !== '' && !text.includes(UNKNOWN)).map((text) => wordOf(text, '<')),
  ];
  recordNamed(command, words, context);
}

/** Pattern for input that people, models or servers read: a question, a sentence, a fenced block, JSON. */
const FOR_READERS = /(?<![\s\S])\s{0,9}\{\s{0,9}"|^(?:[A-Z].*[.:?!]|.*\?|```.*)$/m;

/** Returns whether a program is found by its name or in the system's folders: not `./cat`. */
export function isOfSystem(path: string): boolean {
  return path.includes('/') ? /^\/(s?bin|usr|opt|nix|snap)\//.test(path) : path !== '';
}

/** Pattern for long options with one dash, such as `-coverprofile=FILE`, whatever the rule says. */
const LONG_OPTION = /^-[a-zA-Z][\w,-]+=/;

/** Records words to which a program may write because it or its option is unknown. */
export function recordNamed(command: ShellCommand, words: Call['words'], { facts }: ShellContext): void {
  if (words.length > 0) facts.named.push({ command, words, mayWrite: mayWrite(command) });
}

/** Returns whether nothing is known about what a program does with its words here. */
export function isUnknown(name: string): boolean {
  return ruleOf(name) === undefined && !ELSEWHERE.test(name);
}

function ruleOf(name: string): FileAccessRule | undefined {
  const find = (each: string): FileAccessRule | undefined => {
    const row = rowOf(each);
    return row === undefined ? ruleByName(each) : filesOf(row);
  };
  // GNU tools on a Mac: gsed, gcp, grm.
  return find(name) ?? (name.startsWith('g') ? find(name.slice(1)) : undefined);
}

function recorderIn(
  state: ShellState,
  command: ShellCommand,
  call: Call,
  context: ShellContext,
  explained: Set<string>,
): AccessRecorder {
  const by = command.name;
  return {
    args: call.words.slice(1),
    words: call.words,
    stdin: call.stdin,
    state,
    explain: ({ source }) => explained.add(source),
    write: (word, how, extra) => {
      explained.add(word.source);
      recordWrite({ word, state, by, how, ...extra }, context, call.position);
    },
    read: (word, recursive, unsure) => {
      if (unsure !== true) explained.add(word.source);
      recordRead({ word, state, by, recursive }, context, call.position);
    },
    inDirectory: (directory) =>
      recorderIn({ ...state, cwd: fromCwd(directory, state) }, command, call, context, explained),
  };
}

/** Pattern for text before a file that a program writes: `-o F`, `--out-dir F`, `--js_out=F`, `-Wl,-Map=F`. */
const OUTPUT =
  /^(?:-o|-{1,2}[DP]?(?:[a-z]+[-_])*(?:out(?:put|file|dir)?|dest(?:ination|dir)?|(?:save|write|dump)(?:[-_]?(?:to|as))?|append|cidfile|basetemp|Map)(?:[-_]?(?:file|dir|path|folder))?|-{1,2}\w+profile|-{1,2}(?:log|result|report)[-_]?(?:file|dir|to))$/i;
/** Parts that every such word except `-o` contains one of. Compiling OUTPUT takes as long as all other checks. */
const OUTPUT_PARTS = 'out dest save write dump append cidfile basetemp map profile log result report'.split(' ');
/** Pattern for the same before a separator in a word: `of=F`, `CREATE:F`. */
const OUTPUT_KEY = /^(?:of|out|output|create|open)$/i;
/** Pattern for options that make any program change its operands in place. */
const IN_PLACE = /^--?(?:fix|write|in-?place|overwrite\w*|auto-?fix|auto-?correct|remove-source\w*)(?:=|$)/;
/** Every such option contains one of these. */
const IN_PLACE_PARTS = ['fix', 'write', 'place', 'correct', 'remove-source'];
/** Programs or subcommands that do so by default; others do with `-i` or `-w`. */
const FORMATS = new Set(
  'fix fmt isort stylua pyupgrade swiftformat mdformat nixfmt uncrustify astyle mogrify optipng jpegoptim upx srm wipe savelog'.split(
    ' ',
  ),
);
const FORMATS_IF_TOLD = ['format', 'fmt', 'imports', 'pep8'];
const FORMATTERS = new Set(['gofumpt', 'yapf', '2to3', 'sops', 'codemod']);
const ONLY_LOOKS =
  /^-{1,2}(?:c|d|l|n|check\w*|dry-?run|diff|list\w*|verify[\w-]*|stdout|lint|test|version|help)(?:-only)?(?:=|$)/;

/**
 * Returns a test for whether an unknown program may write to the file that a word names: as its output, or because it changes
 * operands in place. Most programs only read their operands, and any other write is reverted afterwards.
 */
export function mayWrite({ name, argv }: ShellCommand): (word: ShellWord) => boolean {
  const texts = argv.map(({ template }) => template);
  const subcommand = texts.slice(1).find((text) => !text.startsWith('-')) ?? '';
  const options = texts.filter((text) => text.startsWith('-') && text !== '--');
  const isTold = options.some((text) => text === '-i' || text === '-w');
  const formatsIfTold = [name, subcommand].some(
    (each) => FORMATTERS.has(each) || FORMATS_IF_TOLD.some((end) => each.endsWith(end)),
  );
  const inPlace =
    (options.some((text) => IN_PLACE_PARTS.some((part) => text.includes(part)) && IN_PLACE.test(text)) ||
      (isTold && formatsIfTold) ||
      FORMATS.has(name) ||
      FORMATS.has(subcommand)) &&
    !options.some((text) => ONLY_LOOKS.test(text));
  return (word) => {
    if (inPlace) return true;
    const at = argv.indexOf(word);
    const option = at > 1 ? (texts[at - 1] ?? '') : '';
    const { template } = word;
    const isPair = template.includes('=') || template.includes(':');
    const key = (isPair && /^(?:.*[,\s])?([^,\s]+)[=:]/s.exec(template)?.[1]) || '';
    if (isOutput(option) || isOutput(key) || (key !== '' && OUTPUT_KEY.test(key))) return true;
    return template.startsWith('-o') && /^-o[^=]/.test(template);
  };
}

function isOutput(option: string): boolean {
  if (!option.startsWith('-')) return false;
  const small = option.toLowerCase();
  return small === '-o' || (OUTPUT_PARTS.some((part) => small.includes(part)) && OUTPUT.test(option));
}

const WRITERS = new Set(
  'rm mv cp dd tee ln truncate touch shred unlink rmdir sed chmod chown rsync gzip pigz xz zstd'.split(' '),
);
/** Programs that run commands on another machine. */
const ELSEWHERE = /^(?:ssh|mosh|adb|heroku|fly)$/;

/** Returns the words of a command that an unknown program runs: `retry 3 rm F`; null if there is none. */
function wrappedWriter({ name, argv }: ShellCommand): readonly ShellWord[] | null {
  const at = argv.findIndex(({ template }, index) => index > 0 && WRITERS.has(basenameOf(template)));
  return at === -1 || ELSEWHERE.test(name) ? null : argv.slice(at);
}
