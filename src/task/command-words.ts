import { forEachChild, parse, type SyntaxNode } from 'unbash';

const MAX_SOURCE = 64 * 1024;
const MAX_DEPTH = 3;

/**
 * The words of every simple command in a shell text, as the shell would hand them over where they are literal: the
 * command's name first, then its arguments, the files it reads by redirection and the values it is given. Targets it
 * writes to are left out. A word that is a text with spaces is read as shell too (`bash -c '…'`). Never throws.
 */
export function commandWords(source: string, depth = 0): string[][] {
  if (source.length > MAX_SOURCE || depth > MAX_DEPTH) return [];
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
    visit(parse(source));
  } catch {
    // The parser resolves nested parts on access and can run out of stack there: what was found until then stands.
  }
  return found;
}

function wordsOf(command: Extract<SyntaxNode, { type: 'Command' }>): string[] {
  const words = command.name === undefined ? [] : [command.name.value];
  for (const part of [...command.suffix, ...command.prefix]) {
    if (part.type === 'Word') words.push(part.value);
    else if (part.type === 'Assignment' && part.value.type === 'Word') words.push(part.value.value);
    else if (part.type === 'Redirect' && part.operator === '<' && part.target) words.push(part.target.value);
  }
  return words;
}
