import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser/lib/esm/main.js';
import { RalphError } from '../core/ralph-error.ts';

/**
 * The syntax tree of a settings file's text, or null for an empty one. Strict JSON with an object at its root, as the
 * client wants it: measured, the client passes over the whole file when it holds a comment or a trailing comma. Throws
 * `refused` with line and column.
 */
export function parseSettings(text: string, path: string): Node | null {
  if (text.trim() === '') return null;
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  if (first !== undefined) throw broken(path, text, first.offset, explained(printParseErrorCode(first.error)));
  if (root === undefined || root.type !== 'object') throw broken(path, text, root?.offset ?? 0, 'no JSON object');
  return root;
}

/** The value of a property; of several with the same name the last, as JSON.parse has it. */
export function memberOf(object: Node, key: string): Node | null {
  const properties = (object.children ?? []).filter(({ children }) => children?.[0]?.value === key);
  return properties.at(-1)?.children?.[1] ?? null;
}

function explained(code: string): string {
  if (code === 'InvalidCommentToken') return 'a comment, which makes Claude Code pass over the whole file';
  const words = code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.replace('property name expected', 'a property name is expected (or a comma too many stands before)');
}

function broken(path: string, text: string, offset: number, what: string): RalphError {
  const before = text.slice(0, offset).split(/\r\n|\r|\n/);
  const place = `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
  return new RalphError(
    'refused',
    `${path} is no valid JSON: ${what}, at ${place}. Mend it first; nothing was written.`,
  );
}
