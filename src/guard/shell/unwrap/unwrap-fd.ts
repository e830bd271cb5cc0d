import { escapeGlob } from '../glob.ts';
import type { SearchedTree, ShellWord } from '../shell-reading.ts';
import { UNKNOWN } from '../shell-reading.ts';
import type { Call, Unwrapped } from '../shell-state.ts';
import { hasOption, optionValue, type SplitWords, splitOptions, wordOf } from '../words.ts';
import { anyCase } from './unwrap-find.ts';

/** `-x`, `-Hx`, `-xcat`, `--exec-batch`, `--exec=cat`; before the letter stand no options with a value (`-ex` is `-e x`). */
const RUNS = /^(?<flags>-[^-deEStjcoC]*?)[xX](?<attached>.*)$|^--exec(?:-batch)?(?:=(?<given>.*))?$/s;
const VALUES =
  '-d -e -E -S -t -j -c -o --max-depth --min-depth --exact-depth --extension --exclude --size --type --threads --color --owner --changed-within --changed-before --base-directory --search-path --path-separator --ignore-file --max-results --and -C';
/** The found path, its name, its directory, and the first two without the extension. */
const PLACES = /\{(?:|\/|\/\/|\.|\/\.)\}/g;

/** `fd … -x command {}`: the command, with the found files in it; they stand at its end where no place is named. */
export function unwrapFd(call: Call): Unwrapped | undefined {
  const args = call.words.slice(1);
  const at = args.findIndex((word) => RUNS.test(word.template));
  const opening = args[at];
  if (opening === undefined) return undefined;
  const { flags = '-', attached, given } = RUNS.exec(opening.template)?.groups ?? {};
  const first = attached || given;
  const rest = [...(first ? [wordOf(first, opening.source)] : []), ...args.slice(at + 1)];
  const end = rest.findIndex((word) => word.template === ';');
  const command = end === -1 ? rest : rest.slice(0, end);
  if (command.length === 0) return undefined;
  const behind = end === -1 ? [] : rest.slice(end + 1);
  const found = foundFile(
    searchedTree(
      call,
      splitOptions([...args.slice(0, at), ...(flags === '-' ? [] : [wordOf(flags)]), ...behind], VALUES),
    ),
  );
  const named = command.some((word) => word.template.match(PLACES) !== null);
  const words = named ? command.map((word) => withFound(word, found)) : [...command, found];
  return {
    next: [{ kind: 'call', call: { ...call, words, stdin: { kind: 'none', text: '' } } }],
    keepsItself: true,
  };
}

function foundFile(under: SearchedTree): ShellWord {
  return { text: null, template: UNKNOWN, source: 'fd', under };
}

function withFound(word: ShellWord, found: ShellWord): ShellWord {
  const template = word.template.replace(PLACES, UNKNOWN);
  if (template === word.template) return word;
  // "{}.bak" is another file than the one that was found.
  return {
    ...(template === UNKNOWN ? found : { text: null }),
    template,
    source: word.source,
    pattern: escapeGlob(template),
  };
}

/** Hidden files are passed over unless they are asked for. */
function searchedTree({ state }: Call, split: SplitWords): SearchedTree {
  const [pattern, ...paths] = split.operands;
  const given = split.options.filter(({ name }) => name === '--search-path').flatMap(({ value }) => value ?? []);
  const start = optionValue(split, '-C', '--base-directory');
  const from = start === undefined ? state.cwd : absolute(start, state.cwd);
  const roots = [...paths, ...given].map((root) => absolute(root, from));
  const hidden = hasOption(split, '-H', '--hidden', '-u', '--unrestricted');
  const extensions = split.options.filter(({ name }) => name === '-e' || name === '--extension');
  const names =
    extensions.length > 0
      ? extensions.map(({ value }) => `*.${globOf(value)}`)
      : [nameGlob(pattern, hasOption(split, '-g', '--glob'))];
  return {
    roots: roots.length > 0 ? roots : [from],
    names: names.includes('*') ? [] : names.map(anyCase),
    ...(hidden ? {} : { visible: true as const }),
  };
}

/** A regular expression of plain letters, dots and anchors becomes a glob; the matches of any other are unknown. */
function nameGlob(pattern: ShellWord | undefined, isGlob: boolean): string {
  if (pattern === undefined || pattern.text === null) return '*';
  if (isGlob) return pattern.text;
  const plain = pattern.text.replaceAll('\\.', '.');
  const [, begins, middle = '', ends] = /^(\^?)([\w.@-]*)(\$?)$/.exec(plain) ?? [];
  return middle === '' ? '*' : `${begins ? '' : '*'}${middle}${ends ? '' : '*'}`;
}

function globOf(value: ShellWord | undefined): string {
  return value?.text ?? '*';
}

function absolute(path: ShellWord, from: string): string {
  const { template } = path;
  const shown = path.glob ? UNKNOWN : template;
  return shown.startsWith('/') ? shown : `${from}/${shown}`;
}
