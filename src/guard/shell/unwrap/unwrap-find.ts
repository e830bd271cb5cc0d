import { posix } from 'node:path';
import { escapeGlob } from '../glob.ts';
import { type SearchedTree, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import { type Call, fromCwd, inputFrom, NO_INPUT, type Opened, type Unwrapped } from '../shell-state.ts';
import { everywhere, hasOption, optionValue, optionValues, splitOptions, wordOf } from '../words.ts';

const RUNS = new Set(['-exec', '-execdir', '-ok', '-okdir']);

/** Returns the command of `find … -exec command {} \;` with the found files in it. */
export function unwrapFind(call: Call): Unwrapped | undefined {
  const args = call.words.slice(1);
  const found = searchedTree(call.words, call.state);
  const next: Opened[] = [];
  for (let at = 0; at < args.length; at += 1) {
    if (!RUNS.has(args[at]?.template ?? '')) continue;
    const rest = args.slice(at + 1);
    const end = rest.findIndex((word) => word.template === ';' || word.template === '+');
    const words = (end === -1 ? rest : rest.slice(0, end)).map((word) => withFound(word, found));
    if (words.length > 0) next.push({ kind: 'call', call: { ...call, words, stdin: NO_INPUT } });
    at += words.length;
  }
  return next.length === 0 ? undefined : { next, keepsItself: true };
}

/** Returns the directories that a `find` searches, and the names if every result must have one of them. */
export function searchedTree(words: readonly ShellWord[], { cwd }: Call['state']): SearchedTree {
  const args = words.slice(1).filter((word) => !/^-[HLPO]\d?$/.test(word.template));
  const expression = args.findIndex((word) => /^[-(!]/.test(word.template));
  const starts = expression === -1 ? args : args.slice(0, expression);
  const rest = expression === -1 ? [] : args.slice(expression);
  const texts = rest.map(({ template }) => template);
  const isHere = starts.length === 0 || (starts.length === 1 && starts[0]?.template === '.');
  const within = isHere && !texts.some(isOpen) ? conditionsOf(texts).flatMap((_, at) => folderOf(texts, at)) : [];
  const places = startsOf(starts.length === 0 ? [wordOf('.')] : starts, cwd);
  const roots = places.roots.map((root) => `${root}${within[0] ?? ''}`);
  const maxDepth = Number(texts[texts.indexOf('-maxdepth') + 1]);
  const onlyFiles = texts.join(' ').includes('-type f') && !texts.some(isOr);
  const except = exceptOf(rest, roots);
  return {
    ...places,
    roots,
    names: namesOf(rest),
    ...(except.length > 0 ? { except } : {}),
    ...(onlyFiles ? { filesOnly: true as const } : {}),
    ...(texts.includes('-maxdepth') && Number.isInteger(maxDepth) ? { maxDepth } : {}),
  };
}

/** Returns the folder, with a slash before it, that `-path './src/*'` at this position requires. */
function folderOf(texts: readonly string[], at: number): string[] {
  const isDemanded = texts[at] === '-path' && !/^(!|-not)$/.test(texts[at - 1] ?? '') && texts[at + 2] !== '-prune';
  return isDemanded ? (/^\.(\/[\w./@ -]+)\//.exec(texts[at + 1] ?? '')?.slice(1) ?? []) : [];
}

/** Returns what precedes a command to run, whose words may look like conditions. */
function conditionsOf(texts: readonly string[]): readonly string[] {
  const runs = texts.findIndex((text) => RUNS.has(text));
  return runs === -1 ? texts : texts.slice(0, runs);
}

/** Returns whether found files may fail a condition, or the search may begin elsewhere. */
function isOpen(text: string): boolean {
  return isOr(text) || text === '(' || text === '-files0-from';
}

function isOr(text: string): boolean {
  return text === '-o' || text === '-or' || text === ',';
}

/** Returns what `-path X -prune -o`, `-not -path X` and `-not -name X` exclude; beside another `-o`, possibly too little. */
function exceptOf(expression: readonly ShellWord[], roots: readonly string[]): string[] {
  const texts = expression.map(({ template }) => template);
  const pruned = texts.flatMap((text, at) => (text === '-prune' && isOr(texts[at + 1] ?? '') ? [at] : []));
  const plain = texts.filter(isOr).length === pruned.length;
  return texts.flatMap((text, at) => {
    const value = expression[at + 1];
    if (!/^-(path|wholename|name)$/.test(text) || value === undefined || !plain) return [];
    const glob = globOf(value).replace(/\/$/, '');
    // `./x` and `x`, in a search from a root, are paths below it.
    const below = /^[*/]/.test(glob) ? [glob] : roots.map((root) => posix.normalize(`${root}/${glob}`));
    const placed = text === '-name' ? [`*/${glob}`] : below;
    if (pruned.includes(at + 2)) return placed.flatMap((each) => [each, `${each}/*`]);
    return /^(!|-not)$/.test(texts[at - 1] ?? '') ? placed : [];
  });
}

/** Returns the names if every branch of the expression has one; otherwise any file may be found. */
function namesOf(expression: readonly ShellWord[]): string[] {
  const names: string[] = [];
  let [named, pruned, negated] = [false, false, false];
  for (const [index, { template }] of expression.entries()) {
    const value = expression[index + 1];
    if (isOr(template)) {
      if (!named && !pruned) return [];
      [named, pruned] = [false, false];
    } else if (template === '-empty') {
      // Guarded files are never empty.
      named = true;
      names.push('/');
    } else if (template === '-prune') pruned = true;
    else if (/^-i?name$/.test(template) && !negated && value !== undefined) {
      named = true;
      names.push(template === '-iname' ? anyCase(globOf(value)) : globOf(value));
    }
    negated = /^(!|-not)$/.test(template);
  }
  return named || pruned ? names : [];
}

function globOf({ text, pattern }: ShellWord): string {
  return text === null ? '*' : (pattern ?? text);
}

/** Makes a glob ignore case. A bracket expression becomes `?`, which matches more. */
export function anyCase(glob: string): string {
  return glob.replace(/\\(.)|\[[!^]?\]?[^\]]*\]|[a-z]/gis, (piece: string, escaped: string | undefined) => {
    const letter = escaped ?? piece;
    if (/^[a-z]$/i.test(letter)) return `[${letter.toLowerCase()}${letter.toUpperCase()}]`;
    return escaped === undefined ? '?' : piece;
  });
}

function withFound(word: ShellWord, under: SearchedTree): ShellWord {
  if (!word.template.includes('{}')) return word;
  const template = word.template.replaceAll('{}', UNKNOWN);
  // "{}.bak" is a different file from the one found.
  const whole = template === UNKNOWN || !/\0[^\s'"\\;]/.test(template);
  return { text: null, template, source: word.source, ...(whole ? { under } : {}), pattern: escapeGlob(template) };
}

const VALUES =
  '-I -j -n -P -L -s -d -E -a --jobs --max-args --max-procs --max-lines --delimiter --arg-file --replace --max-chars';
const MAX_LINES = 32;

/** Returns the command of `xargs command` with the words of its input, which are known if the input is literal. */
export function unwrapXargs(call: Call): Unwrapped | undefined {
  const split = splitOptions(call.words.slice(1), VALUES, true);
  const [only, ...others] = split.operands;
  if (only === undefined) return undefined;
  const file = optionValue(split, '-a', '--arg-file');
  const given = file === undefined ? call : { ...call, stdin: inputFrom(file, call.state) };
  // GNU parallel on files that a search finds is like xargs with a placeholder for them.
  const isParallel =
    call.words[0]?.template === 'parallel' && call.words.some(({ template }) => template.includes('{}'));
  const command = isParallel && others.length === 0 ? [wordOf('sh'), wordOf('-c'), only] : split.operands;
  const marker =
    optionValue(split, '-I', '--replace')?.template ??
    (split.options.some((each) => each.name === '-i') || isParallel ? '{}' : undefined);
  const items = itemsOf(given, marker !== undefined);
  const next: Opened[] =
    marker === undefined
      ? [{ kind: 'call', call: { ...call, stdin: NO_INPUT, words: [...command, ...items] } }]
      : items.slice(0, MAX_LINES).map((item) => ({
          kind: 'call',
          call: {
            ...call,
            stdin: NO_INPUT,
            words: command.map((word) => replaced(word, marker, item, call.state.cwd)),
          },
        }));
  return { next, keepsItself: file !== undefined };
}

function itemsOf(call: Call, byLine: boolean): ShellWord[] {
  const { text, kind } = call.stdin;
  if (kind === 'none' || call.stdin.under !== undefined || text === UNKNOWN) return [unknownItem(call)];
  const items = text.split(byLine ? /[\n\0]+/ : /[\s\0]+/).filter((item) => item.trim() !== '');
  if (items.length > 256) return [unknownItem(call)];
  // The input is partly known: each known piece, and possibly others.
  const words = items.map((item) => {
    const word = wordOf(item.trim().replace(/^(['"])(.*)\1$/, '$2'));
    // `echo .claude/* | xargs rm`: the printed words are the matches.
    return /[*?[]/.test(word.template) ? { ...word, glob: true as const, pattern: word.template } : word;
  });
  return text.includes(UNKNOWN) || words.length === 0 ? [...words, unknownItem(call)] : words;
}

function unknownItem(call: Call): ShellWord {
  const { under } = call.stdin;
  return { text: null, template: UNKNOWN, source: 'xargs', ...(under === undefined ? {} : { under }) };
}

/** Returns a template reduced to the name if it places a found file in the working directory, as in `./{}`. */
function hereOmitted(template: string, cwd: string): string {
  return template.replaceAll(`${cwd}/${UNKNOWN}`, UNKNOWN).replace(/(?<![^\s'"])(?:\.\/)+\0/g, UNKNOWN);
}

function replaced(word: ShellWord, marker: string, item: ShellWord, cwd: string): ShellWord {
  if (!word.template.includes(marker)) return word;
  const template = word.template.replaceAll(marker, item.template);
  const base = wordOf(template, word.source);
  const plain = hereOmitted(template, cwd);
  // In a text for a shell, the placeholder must be a separate word.
  const isPlace = plain === UNKNOWN || (/\s/.test(plain) && !/[^\s'"]\0|\0[^\s'";]/.test(plain));
  return item.under !== undefined && isPlace ? { ...base, under: item.under } : base;
}

/** Pattern for `-x`, `-Hx`, `-xcat`, `--exec-batch`, `--exec=cat`. An option with a value may not precede it: `-ex` is `-e x`. */
const FD_RUNS = /^(?<flags>-[^-deEStjcoC]*?)[xX](?<attached>.*)$|^--exec(?:-batch)?(?:=(?<given>.*))?$/s;
const FD_VALUES =
  '-d -e -E -S -t -j -c -o --max-depth --min-depth --exact-depth --extension --exclude --size --type --threads --color --owner --changed-within --changed-before --base-directory --search-path --path-separator --ignore-file --max-results --and -C';
/** Placeholders of fd: the found path, its name, its directory, and the first two without the extension. */
const PLACES = /\{(?:|\/|\/\/|\.|\/\.)\}/g;

/** Returns the command of `fd … -x command {}` with the found files in it, or at its end if it has no placeholder. */
export function unwrapFd(call: Call): Unwrapped | undefined {
  const args = call.words.slice(1);
  const at = args.findIndex((word) => FD_RUNS.test(word.template));
  const opening = args[at];
  if (opening === undefined) return undefined;
  const { flags = '-', attached, given } = FD_RUNS.exec(opening.template)?.groups ?? {};
  const first = attached || given;
  const rest = [...(first ? [wordOf(first, opening.source)] : []), ...args.slice(at + 1)];
  const end = rest.findIndex((word) => word.template === ';');
  const command = end === -1 ? rest : rest.slice(0, end);
  if (command.length === 0) return undefined;
  const behind = end === -1 ? [] : rest.slice(end + 1);
  const own = [...args.slice(0, at), ...(flags === '-' ? [] : [wordOf(flags)]), ...behind];
  const found = { ...wordOf(UNKNOWN, 'fd'), under: fdTree(call, own) };
  const named = command.some((word) => word.template.match(PLACES) !== null);
  const words = named ? command.map((word) => withFoundPlaces(word, found)) : [...command, found];
  return { next: [{ kind: 'call', call: { ...call, words, stdin: NO_INPUT } }], keepsItself: true };
}

function withFoundPlaces(word: ShellWord, found: ShellWord): ShellWord {
  const template = word.template.replace(PLACES, UNKNOWN);
  if (template === word.template) return word;
  // "{}.bak" is a different file from the one found.
  const isWhole = /^(?:\.\/)*\0$/.test(template);
  return { ...(isWhole ? found : { text: null }), template, source: word.source, pattern: escapeGlob(template) };
}

/** Returns the directories that `fd` searches; hidden files are skipped unless requested. */
export function fdTree({ state }: Call, args: readonly ShellWord[]): SearchedTree {
  const split = splitOptions(args, FD_VALUES);
  const [pattern, ...paths] = split.operands;
  const given = optionValues(split, '--search-path');
  const start = optionValue(split, '-C', '--base-directory');
  const from = start === undefined ? state.cwd : fromCwd(start.glob ? UNKNOWN : start.template, state);
  const places = [...paths, ...given];
  const hidden = hasOption(split, '-H', '--hidden', '-u', '--unrestricted');
  const left = optionValues(split, '-E', '--exclude');
  const extensions = split.options.filter(({ name }) => name === '-e' || name === '--extension');
  const names =
    extensions.length > 0
      ? extensions.map(({ value }) => `*.${value?.text ?? '*'}`)
      : [nameGlob(pattern, hasOption(split, '-g', '--glob'))];
  return {
    ...(places.length > 0 ? startsOf(places, from) : { roots: [from] }),
    names: names.includes('*') ? [] : names.map(anyCase),
    ...(hidden ? {} : { visible: true as const }),
    ...(hasOption(split, '-I', '--no-ignore', '-u', '--unrestricted', '--no-ignore-vcs')
      ? {}
      : { ignores: true as const }),
    ...(left.length > 0 ? { except: everywhere(left.map(({ template }) => template)) } : {}),
  };
}

/** Converts a regular expression of plain letters, dots and anchors to a glob; any other may match anything. */
export function nameGlob(pattern: ShellWord | undefined, isGlob: boolean): string {
  if (pattern === undefined || pattern.text === null) return '*';
  if (isGlob) return pattern.text;
  const plain = pattern.text.replaceAll('\\.', '.');
  const [, begins, middle = '', ends] = /^(\^?)([\w.@-]*)(\$?)$/.exec(plain) ?? [];
  return middle === '' ? '*' : `${begins ? '' : '*'}${middle}${ends ? '' : '*'}`;
}

/** Returns the places where a search begins. */
export function startsOf(places: readonly ShellWord[], cwd: string): Pick<SearchedTree, 'roots' | 'globs'> {
  const roots = places.flatMap(({ template, glob }) => (glob ? [] : fromCwd(template, { cwd })));
  const globs = places.flatMap(({ glob, pattern = '' }) => (glob ? fromCwd(pattern, { cwd: escapeGlob(cwd) }) : []));
  return { roots, ...(globs.length > 0 ? { globs } : {}) };
}
