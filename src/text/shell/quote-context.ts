import { forEachChild, hasParseErrors, parseShell, type SyntaxNode } from './parse-shell.ts';

/** Quotes around a place of a shell text; `unsafe` says where it is if a value cannot be quoted there. */
export type QuoteContext = 'bare' | 'single' | 'double' | { readonly unsafe: string };

/** An expansion of names and plain characters only. */
const PLAIN_EXPANSION = /^\$\{[^'"`\\${}()]*\}$/;
const ARITHMETIC = 'in or after an arithmetic expression';
/** Operators whose operands bash evaluates once more. */
const EVALUATING_TEST = /^(?:-eq|-ne|-lt|-le|-gt|-ge|-v|=~)$/;

interface Search {
  readonly marks: readonly string[];
  readonly found: Map<string, QuoteContext>;
  /** Set once a construct has been passed that shells read differently: every later place is unsafe. */
  unsafe: string | null;
}

/**
 * Finds the quotes around each of these marks, which stand in a shell text once each: plain text that no shell takes for
 * part of a name. Every
 * construct that shells, or this parser and a shell, could read differently makes the places in and after it unsafe.
 */
export function quoteContexts(text: string, marks: readonly string[]): QuoteContext[] {
  const search: Search = { marks, found: new Map(), unsafe: null };
  try {
    const script = parseShell(text);
    if (hasParseErrors(script)) search.unsafe = 'in a command that does not parse';
    visit(script, false, search);
  } catch {
    return marks.map(() => ({ unsafe: 'in a command that is nested too deeply' }));
  }
  const outside = { unsafe: 'outside the words of the command, as in a comment' };
  return marks.map((mark) => {
    const context = search.found.get(mark) ?? outside;
    return typeof context === 'string' && /\$$/.test(text.slice(0, text.indexOf(mark))) && context !== 'single'
      ? { unsafe: 'directly after $' }
      : context;
  });
}

function visit(node: SyntaxNode, inBrackets: boolean, search: Search): void {
  search.unsafe ??= pitfall(node, inBrackets);
  switch (node.type) {
    case 'DoubleQuoted':
      for (const part of node.parts) {
        if (part.type === 'Literal') record(part.text, 'double', search);
        else visit(part, inBrackets, search);
      }
      return;
    case 'SingleQuoted':
      record(node.text, 'single', search);
      return;
    case 'Literal':
      record(node.text, 'bare', search);
      return;
    case 'ParameterExpansion':
      record(node.text, { unsafe: 'in an expansion in braces' }, search);
      break;
    case 'Word':
    case 'BraceExpansion':
      if (node.parts === undefined) record(node.text, 'bare', search);
      break;
    case 'Assignment':
      if (node.index !== undefined) record(node.index.text, { unsafe: 'in the index of an array' }, search);
      break;
    default:
  }
  const nested = inBrackets || ['Subshell', 'CommandExpansion', 'ProcessSubstitution'].includes(node.type);
  forEachChild(node, (child) => visit(child, nested, search));
}

/** Says where a place in or after this node is, if shells could read the node differently. */
function pitfall(node: SyntaxNode, inBrackets: boolean): string | null {
  switch (node.type) {
    case 'Script':
      return hasParseErrors(node) ? 'in a command that does not parse' : null;
    case 'HereDoc':
      return 'in or after a here-document';
    case 'ArithmeticExpansion':
    case 'ArithmeticCommand':
    case 'ArithmeticFor':
      return ARITHMETIC;
    case 'AnsiCQuoted':
    case 'LocaleString':
      return 'in or after $\'…\' or $"…", which not every shell knows';
    case 'CommandExpansion':
      return node.text.startsWith('`') ? 'in or after backticks' : null;
    case 'ParameterExpansion':
      return PLAIN_EXPANSION.test(node.text) ? null : 'in or after an expansion in braces';
    case 'Case':
      return inBrackets ? 'in or after a case in brackets' : null;
    case 'TestUnary':
    case 'TestBinary':
      return EVALUATING_TEST.test(node.operator) ? `in or after a test by ${node.operator}` : null;
    default:
      return null;
  }
}

function record(text: string, context: QuoteContext, { marks, found, unsafe }: Search): void {
  for (const mark of marks) {
    const at = text.indexOf(mark);
    if (at === -1) continue;
    if (unsafe !== null) found.set(mark, { unsafe });
    else if (context !== 'single' && /(?<!\\)(?:\\\\)*\\$/.test(text.slice(0, at))) {
      found.set(mark, { unsafe: 'directly after a backslash' });
    } else if (!found.has(mark) || typeof context !== 'string') found.set(mark, context);
  }
}
