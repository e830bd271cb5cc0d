import { escapeGlob } from '../glob.ts';
import { type SearchedTree, type ShellWord, UNKNOWN } from '../shell-reading.ts';
import type { Call, Opened, Unwrapped } from '../shell-state.ts';
import { optionValue, splitOptions, wordOf } from '../words.ts';

const RUNS = new Set(['-exec', '-execdir', '-ok', '-okdir']);

/** `find … -exec command {} \;`: the command, with the found files in it. */
export function unwrapFind(call: Call): Unwrapped | undefined {
  const args = call.words.slice(1);
  const found = searchedTree(call.words, call.state);
  const next: Opened[] = [];
  for (let at = 0; at < args.length; at += 1) {
    if (!RUNS.has(args[at]?.template ?? '')) continue;
    const rest = args.slice(at + 1);
    const end = rest.findIndex((word) => word.template === ';' || word.template === '+');
    const words = (end === -1 ? rest : rest.slice(0, end)).map((word) => withFound(word, found));
    if (words.length > 0) next.push({ kind: 'call', call: { ...call, words, stdin: { kind: 'none', text: '' } } });
    at += words.length;
  }
  return next.length === 0 ? undefined : { next, keepsItself: true };
}

/** Returns the directories that a `find` searches, and the names if every result must have one of them. */
export function searchedTree(words: readonly ShellWord[], { cwd }: Call['state']): SearchedTree {
  const args = words.slice(1).filter((word) => !/^-[HLPO]\d?$/.test(word.template));
  const expression = args.findIndex((word) => /^[-(!]/.test(word.template));
  const starts = expression === -1 ? args : args.slice(0, expression);
  const roots = (starts.length === 0 ? ['.'] : starts.map((word) => (word.glob ? UNKNOWN : word.template))).map(
    (root) => (root.startsWith('/') ? root : `${cwd}/${root}`),
  );
  const rest = expression === -1 ? [] : args.slice(expression);
  return { roots, names: namesOf(rest) };
}

/** Every branch of the expression must have a name; otherwise any file may be found. */
function namesOf(expression: readonly ShellWord[]): string[] {
  const names: string[] = [];
  let named = false;
  let pruned = false;
  let negated = false;
  for (const [index, word] of expression.entries()) {
    const value = expression[index + 1];
    switch (word.template) {
      case '-o':
      case '-or':
      case ',':
        if (!named && !pruned) return [];
        named = false;
        pruned = false;
        break;
      case '-prune':
        pruned = true;
        break;
      case '!':
      case '-not':
        negated = true;
        continue;
      case '-name':
      case '-iname':
        if (negated || value === undefined) break;
        named = true;
        names.push(word.template === '-iname' ? anyCase(globOf(value)) : globOf(value));
        break;
      default:
    }
    negated = false;
  }
  return named || pruned ? names : [];
}

function globOf(value: ShellWord): string {
  if (value.text === null) return '*';
  return value.pattern ?? value.text;
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
  // "{}.bak" is another file than the one that was found.
  const whole = template === UNKNOWN || !/\0[^\s'"\\;]/.test(template);
  return { text: null, template, source: word.source, ...(whole ? { under } : {}), pattern: escapeGlob(template) };
}

const VALUES =
  '-I -n -P -L -s -d -E -a --max-args --max-procs --max-lines --delimiter --arg-file --replace --max-chars';
/** Lines of literal input that `-I` runs one by one. */
const MAX_LINES = 32;

/** `xargs command`: the command with the words of its input, which are known where the input is literal. */
export function unwrapXargs(call: Call): Unwrapped | undefined {
  const split = splitOptions(call.words.slice(1), VALUES, true);
  const command = split.operands;
  if (command.length === 0) return undefined;
  const stdin = { kind: 'none', text: '' } as const;
  const fromFile = optionValue(split, '-a', '--arg-file') !== undefined;
  const marker =
    optionValue(split, '-I', '--replace')?.template ??
    (split.options.some((each) => each.name === '-i') ? '{}' : undefined);
  const items = fromFile ? [unknownItem(call)] : itemsOf(call, marker !== undefined);
  const next: Opened[] =
    marker === undefined
      ? [{ kind: 'call', call: { ...call, stdin, words: [...command, ...items] } }]
      : items.slice(0, MAX_LINES).map((item) => ({
          kind: 'call',
          call: { ...call, stdin, words: command.map((word) => replaced(word, marker, item)) },
        }));
  return { next, keepsItself: fromFile };
}

function itemsOf(call: Call, byLine: boolean): ShellWord[] {
  const { text, kind } = call.stdin;
  if (kind === 'none' || call.stdin.under !== undefined || text === UNKNOWN) return [unknownItem(call)];
  const items = text.split(byLine ? /[\n\0]+/ : /[\s\0]+/).filter((item) => item.trim() !== '');
  if (items.length > 256) return [unknownItem(call)];
  // Partly known input: each known piece, and possibly others.
  const words = items.map((item) => wordOf(item.trim().replace(/^(['"])(.*)\1$/, '$2')));
  return text.includes(UNKNOWN) || words.length === 0 ? [...words, unknownItem(call)] : words;
}

function unknownItem(call: Call): ShellWord {
  const { under } = call.stdin;
  return { text: null, template: UNKNOWN, source: 'xargs', ...(under === undefined ? {} : { under }) };
}

function replaced(word: ShellWord, marker: string, item: ShellWord): ShellWord {
  if (!word.template.includes(marker)) return word;
  const template = word.template.replaceAll(marker, item.template);
  const base = wordOf(template, word.source);
  return item.under !== undefined && template === UNKNOWN ? { ...base, under: item.under } : base;
}
