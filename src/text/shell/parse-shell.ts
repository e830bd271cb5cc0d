import { forEachChild, type ParsedScript, parse, type SyntaxNode } from 'unbash';

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

/** Returns whether a shell text parses, including everything nested in it. One that is nested too deeply does not. */
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
