import { type Command, forEachChild, type ParsedScript, parse, type SyntaxNode } from 'unbash';

/** Types of the only shell parser, for all readers of shell texts. */

export type * from 'unbash';
export { forEachChild };

/** Maximum length of a shell text in characters. The parser's time is not always linear. */
export const MAX_SHELL_TEXT = 16 * 1024;

/** Parses a shell text. Nested scripts are parsed on access, which can throw a RangeError if they are nested too deeply. */
export function parseShell(text: string): ParsedScript {
  return parse(text);
}

/** Returns whether a parsed script is incomplete. Nested scripts report their own errors. */
export function hasParseErrors(script: ParsedScript): boolean {
  return (script.errors?.length ?? 0) > 0;
}

/** Returns whether a shell text parses, including everything nested in it, but not too deeply. */
export function isParsable(text: string): boolean {
  const isWhole = (node: SyntaxNode): boolean => {
    let whole = node.type !== 'Script' || !hasParseErrors(node);
    forEachChild(node, (child) => {
      whole &&= isWhole(child);
    });
    return whole;
  };
  try {
    return isWhole(parseShell(text));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const MAX_DEPTH = 3;

/**
 * Returns the words of every simple command in a shell text, literal words as the shell passes them: the command's name, its
 * arguments, the files it reads by redirection and the values assigned to it, but not the targets of its writes. A word with
 * spaces is also read as a shell text (`bash -c '…'`). Never throws; a text that is too long has no words.
 */
export function commandWords(source: string, depth = 0): string[][] {
  if (source.length > MAX_SHELL_TEXT || depth > MAX_DEPTH) return [];
  const found: string[][] = [];
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const words = wordsOf(node);
      if (words.length > 0) found.push(words);
      for (const word of words) if (/\s/.test(word)) found.push(...commandWords(word, depth + 1));
    }
    forEachChild(node, visit);
  };
  try {
    visit(parseShell(source));
  } catch {
    // Nested too deeply for the parser: the words found so far count.
  }
  return found;
}

function wordsOf(command: Command): string[] {
  const words = command.name === undefined ? [] : [command.name.value];
  for (const part of [...command.suffix, ...command.prefix]) {
    if (part.type === 'Word') words.push(part.value);
    else if (part.type === 'Assignment' && part.value.type === 'Word') words.push(part.value.value);
    else if (part.type === 'Redirect' && part.operator === '<' && part.target) words.push(part.target.value);
  }
  return words;
}

const SHELLS = /^(?:ba|z|da|k|a|fi|c|tc)?sh$|^(?:su|busybox|pwsh|powershell)(?:\.exe)?$/;
const INTERPRETERS = /^(?:python|node|nodejs|deno|bun|ruby|perl|php|lua|osascript|Rscript)[\d.]*$/;
/** Commands that evaluate all their words as code. */
const EVALUATES = new Set(['eval', 'let', 'trap', 'ssh', 'watch']);
const SHELL_CODE = /^-[a-zA-Z]*c$|^--?command$/i;
const INTERPRETER_CODE = /^-[a-zA-Z]*[cepEr]$|^--(?:eval|print|run)$/;

/** Returns whether a word that contains `mark` is passed on as code (eval, `bash -c`), to be parsed a second time. */
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

/** Returns the word after the first option that takes code. */
function codeAfter(words: readonly string[], option: RegExp): string | undefined {
  for (const [index, word] of words.entries()) {
    if (option.test(word)) return words[index + 1];
    const [name = '', ...value] = word.split('=');
    if (value.length > 0 && option.test(name)) return value.join('=');
  }
  return undefined;
}
