import type { Call } from './call.ts';
import { UNKNOWN } from './shell-reading.ts';
import { splitOptions } from './split-options.ts';

const VALUES = '-j -P -S -a -N -n --jobs --arg-file --joblog --results --colsep';
/** More values than this are not followed one by one. */
const MOST = 64;

/** What GNU parallel gives to a shell: its command with each of the values behind `:::`, or of its input. */
export function parallelTexts(call: Call): string[] {
  const words = splitOptions(call.words.slice(1), VALUES, true).operands.map((word) => word.template);
  const at = words.findIndex((word) => /^:{3,4}\+?$/.test(word));
  const command = (at === -1 ? words : words.slice(0, at)).join(' ');
  const given = at === -1 || /^:{4}/.test(words[at] ?? '') ? linesOf(call) : words.slice(at + 1);
  const values = given.length > MOST ? [UNKNOWN] : given;
  if (command === '') return values;
  return values.map((value) => {
    const word = value.includes(UNKNOWN) ? '"$PARALLEL_VALUE"' : value;
    return command.includes('{}') ? command.replaceAll('{}', word) : `${command} ${word}`;
  });
}

function linesOf({ stdin }: Call): string[] {
  if (stdin.kind === 'none' || stdin.under !== undefined) return [UNKNOWN];
  const lines = stdin.text.split('\n').filter((line) => line !== '');
  return lines.length === 0 ? [UNKNOWN] : lines;
}
