import { forEachChild, type ParsedScript, parse, type SyntaxNode } from 'unbash';
import { orElse } from '../or-else.ts';

/** The one use of the shell parser: its nodes for the readers of shell texts. */

export type * from 'unbash';
export { forEachChild };

/** Maximum length of a shell text in characters. The parser's time is not linear in every text. */
export const MAX_SHELL_TEXT = 16 * 1024;

/** Parses a shell text. Nested scripts are parsed on access, which can throw a RangeError in a deeply nested text. */
export function parseShell(text: string): ParsedScript {
  return parse(text);
}

/** Returns whether a script as parsed is incomplete. Scripts nested in it report their own errors. */
export function hasParseErrors(script: ParsedScript): boolean {
  return (script.errors?.length ?? 0) > 0;
}

/** Returns whether a shell text parses, with everything nested in it. Never throws. */
export function isParsable(text: string): boolean {
  const isWhole = (node: SyntaxNode): boolean => {
    let whole = node.type !== 'Script' || !hasParseErrors(node);
    forEachChild(node, (child) => {
      whole &&= isWhole(child);
    });
    return whole;
  };
  return orElse(() => isWhole(parseShell(text)), false);
}
