import { commandWords } from './command-words.ts';

const SHELLS = /^(?:ba|z|da|k|a|fi|c|tc)?sh$|^(?:su|busybox|pwsh|powershell)(?:\.exe)?$/;
const INTERPRETERS = /^(?:python|node|nodejs|deno|bun|ruby|perl|php|lua|osascript|Rscript)[\d.]*$/;
/** What reads its words as shell code, whatever they are. */
const EVALUATES = new Set(['eval', 'trap', 'ssh', 'watch']);
const SHELL_CODE = /^-[a-zA-Z]*c$|^--?command$/i;
const INTERPRETER_CODE = /^-[a-zA-Z]*[cepEr]$|^--(?:eval|print|run)$/;

/**
 * Whether a shell text hands over a word with `mark` in it as code: to eval, to `bash -c`, to `python -c`. There the
 * value would be read once more, by other rules than those that it was quoted by.
 */
export function isInCode(text: string, mark: string): boolean {
  return commandWords(text).some((words) =>
    words.some((word, index) => {
      const name = word.slice(word.lastIndexOf('/') + 1);
      const rest = words.slice(index + 1);
      if (EVALUATES.has(name)) return rest.some((other) => other.includes(mark));
      if (SHELLS.test(name)) return codeAfter(rest, SHELL_CODE)?.includes(mark);
      return INTERPRETERS.test(name) && codeAfter(rest, INTERPRETER_CODE)?.includes(mark);
    }),
  );
}

/** The word behind the first option that brings code. */
function codeAfter(words: readonly string[], option: RegExp): string | undefined {
  for (const [index, word] of words.entries()) {
    if (option.test(word)) return words[index + 1];
    const [name = '', ...value] = word.split('=');
    if (value.length > 0 && option.test(name)) return value.join('=');
  }
  return undefined;
}
