import type { SyntaxNode } from '../../text/shell/parse-shell.ts';
import {
  forEachChild,
  hasParseErrors,
  isInCode,
  isParsable,
  MAX_SHELL_TEXT,
  parseShell,
} from '../../text/shell/parse-shell.ts';
import { type Placeholder, placeholdersOf, RALPH_NAMES, replaced } from '../frontmatter/placeholders.ts';

export interface CommandValues {
  readonly args: Readonly<Record<string, string>>;
  readonly name: string;
  readonly maxIterations: number;
}

interface CommandProblem {
  readonly rule: 'placeholder' | 'unsafe-placeholder' | 'unknown-placeholder';
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

/** Returns the problems of a command's placeholders, whatever the values of the arguments. */
export function commandProblems(run: string, declared: readonly string[]): CommandProblem[] {
  const placeholders = placeholdersOf(run);
  const contexts = contextsOf(run, placeholders);
  return placeholders.flatMap((placeholder, index): CommandProblem[] => {
    const shown = run.slice(placeholder.start, placeholder.end);
    if (placeholder.kind === 'commands') {
      const message = `uses ${shown}: the output of a command can be used only in the body.`;
      return [{ rule: 'placeholder', message, severity: 'error' }];
    }
    if (placeholder.kind === 'ralph' && !RALPH_NAMES.includes(placeholder.name)) {
      const message = `uses ${shown}, which is not replaced: after "ralph." use ${RALPH_NAMES.join(', ')}.`;
      return [{ rule: 'unknown-placeholder', message, severity: 'warning' }];
    }
    if (placeholder.kind === 'args' && !declared.includes(placeholder.name)) {
      const message = `uses ${shown}, but args declares no "${placeholder.name}".`;
      return [{ rule: 'placeholder', message, severity: 'error' }];
    }
    const context = contexts[index];
    if (!isText(placeholder) || typeof context !== 'object') return [];
    const message = `uses ${shown} ${context.unsafe}, where a value cannot be quoted safely.`;
    return [{ rule: 'unsafe-placeholder', message, severity: 'error' }];
  });
}

/** Fills in the values, each within its word. Requires a command accepted by `commandProblems`, and values without NUL. */
export function fillCommand(run: string, { args, name, maxIterations }: CommandValues): string {
  const contexts = contextsOf(run, placeholdersOf(run));
  return replaced(run, (placeholder, index) => {
    if (placeholder.kind === 'ralph' && placeholder.name === 'max_iterations') return String(maxIterations);
    if (!isText(placeholder)) return null;
    const value = placeholder.kind === 'ralph' ? name : (args[placeholder.name] ?? '');
    return inContext(quoted(value), contexts[index] ?? 'bare');
  });
}

/** Returns whether a placeholder stands for text chosen by the user; other values are numbers. */
function isText({ kind, name }: Placeholder): boolean {
  return kind === 'args' || (kind === 'ralph' && name === 'name');
}

/** Determines the quotes around each placeholder by parsing the command with marks in their places. */
function contextsOf(run: string, placeholders: readonly Placeholder[]): QuoteContext[] {
  if (run.length > MAX_SHELL_TEXT)
    return placeholders.map(() => ({ unsafe: `in more than ${MAX_SHELL_TEXT} characters` }));
  const marks = placeholders.map((_, index) => `%RALPH${index}%`);
  const marked = replaced(run, (_, index) => marks[index] ?? '');
  const contexts = quoteContexts(marked, marks);
  const sample = replaced(run, (_, index) => inContext(quoted(marks[index] ?? ''), contexts[index] ?? 'bare'));
  const parsable = isParsable(sample);
  return contexts.map((context, index) => {
    if (typeof context === 'object') return context;
    if (!parsable) return { unsafe: 'in a command that does not parse' };
    return isInCode(sample, marks[index] ?? '')
      ? { unsafe: 'in code for a second program (pass it as an argument: bash -c \'… "$1"\' _ VALUE)' }
      : context;
  });
}

/** Closes the open quotes, adds the value in its own quotes, and reopens them. */
function inContext(word: string, context: QuoteContext): string {
  if (context === 'double') return `"${word}"`;
  return context === 'single' ? `'${word}'` : word;
}

/** Quotes a value as one POSIX word in which no placeholder can be recognised. */
function quoted(value: string): string {
  const closed = value.replaceAll("'", "'\\''").replace(/\{(?=\{)/g, "{''");
  return `'${closed}'`;
}

/** Quotes around a place in a shell text; `unsafe` describes the place if a value cannot be quoted there. */
type QuoteContext = 'bare' | 'single' | 'double' | { readonly unsafe: string };

/** Pattern for an expansion of names and plain characters only. */
const PLAIN_EXPANSION = /^\$\{[^'"`\\${}()]*\}$/;
const ARITHMETIC = 'in or after an arithmetic expression';
/** Operators whose operands bash evaluates again. */
const EVALUATING_TEST = /^(?:-eq|-ne|-lt|-le|-gt|-ge|-v|=~)$/;

interface Search {
  readonly marks: readonly string[];
  readonly found: Map<string, QuoteContext>;
  /** Set after a construct that shells interpret differently: every later place is unsafe. */
  unsafe: string | null;
}

/**
 * Finds the quotes around each of these marks, each of which occurs once in a shell text: plain text that no shell reads as
 * part of a name. A construct that shells could interpret differently, or this parser unlike a shell, makes the places in it
 * and after it unsafe.
 */
function quoteContexts(text: string, marks: readonly string[]): QuoteContext[] {
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

/** Describes the place in or after this node if shells could interpret the node in different ways. */
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
