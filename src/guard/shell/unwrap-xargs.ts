import type { Call } from './call.ts';
import type { ShellWord } from './shell-reading.ts';
import { UNKNOWN } from './shell-reading.ts';
import { optionValue, splitOptions } from './split-options.ts';
import type { Opened, Unwrapped } from './unwrap.ts';
import { wordOf } from './word-builder.ts';

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
  // Input that is known in part: each known piece, and that there may be others.
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
