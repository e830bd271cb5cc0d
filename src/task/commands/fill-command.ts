import { isInCode } from '../../text/shell/command-words.ts';
import { isParsable, MAX_SHELL_TEXT } from '../../text/shell/parse-shell.ts';
import { type QuoteContext, quoteContexts } from '../../text/shell/quote-context.ts';
import { type Placeholder, placeholdersOf, RALPH_NAMES, replaced } from '../frontmatter/placeholders.ts';

/** What is fixed when a loop starts. */
export interface CommandValues {
  readonly args: Readonly<Record<string, string>>;
  readonly name: string;
  readonly maxIterations: number;
}

/** One thing that is wrong with a placeholder of a command. */
export interface CommandProblem {
  readonly rule: 'placeholder' | 'unsafe-placeholder' | 'unknown-placeholder';
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

/** What is wrong with the placeholders of this command, whatever values the declared arguments get. */
export function commandProblems(run: string, declared: readonly string[]): CommandProblem[] {
  const placeholders = placeholdersOf(run);
  const contexts = contextsOf(run, placeholders);
  return placeholders.flatMap((placeholder, index): CommandProblem[] => {
    const shown = run.slice(placeholder.start, placeholder.end);
    if (placeholder.kind === 'commands') {
      const message = `uses ${shown}: the output of a command can stand in the body only.`;
      return [{ rule: 'placeholder', message, severity: 'error' }];
    }
    if (placeholder.kind === 'ralph' && !RALPH_NAMES.includes(placeholder.name)) {
      const message = `uses ${shown}, which stays as it stands: after "ralph." comes ${RALPH_NAMES.join(', ')}.`;
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

/**
 * The command as the shell gets it. An argument's value arrives as exactly this text within its word, whatever it holds;
 * the number of the iteration is left to `runOfIteration`, and nothing that a value holds is ever taken for it. The
 * command must be one in which `commandProblems` finds no error, and no value may hold a NUL.
 */
export function fillCommand(run: string, { args, name, maxIterations }: CommandValues): string {
  const contexts = contextsOf(run, placeholdersOf(run));
  let index = -1;
  return replaced(run, (placeholder) => {
    index += 1;
    if (placeholder.kind === 'ralph' && placeholder.name === 'max_iterations') return String(maxIterations);
    if (!isText(placeholder)) return null;
    const value = placeholder.kind === 'ralph' ? name : (args[placeholder.name] ?? '');
    return inContext(quoted(value), contexts[index] ?? 'bare');
  });
}

/** A text that anybody may choose; the others are numbers. */
function isText({ kind, name }: Placeholder): boolean {
  return kind === 'args' || (kind === 'ralph' && name === 'name');
}

/** Quotes around each placeholder, found with marks in their place. Values are then tried as they will be quoted. */
function contextsOf(run: string, placeholders: readonly Placeholder[]): QuoteContext[] {
  if (run.length > MAX_SHELL_TEXT) {
    return placeholders.map(() => ({ unsafe: `in more than ${MAX_SHELL_TEXT} characters` }));
  }
  const marks = placeholders.map((_, index) => `%RALPH${index}%`);
  const contexts = quoteContexts(filled(run, marks), marks);
  const quotedMarks = marks.map((mark, index) => inContext(quoted(mark), contexts[index] ?? 'bare'));
  const sample = filled(run, quotedMarks);
  const parsable = isParsable(sample);
  return contexts.map((context, index) => {
    if (typeof context === 'object') return context;
    if (!parsable) return { unsafe: 'in a command that does not parse' };
    return isInCode(sample, marks[index] ?? '')
      ? { unsafe: 'in code for a second program (pass it as an argument: bash -c \'… "$1"\' _ VALUE)' }
      : context;
  });
}

function filled(run: string, words: readonly string[]): string {
  let index = -1;
  return replaced(run, () => {
    index += 1;
    return words[index] ?? '';
  });
}

/** Out of the quotes that are open, the value in quotes of its own, and in again. */
function inContext(word: string, context: QuoteContext): string {
  if (context === 'double') return `"${word}"`;
  return context === 'single' ? `'${word}'` : word;
}

/** As one word of a POSIX shell, in which no placeholder can be read. */
function quoted(value: string): string {
  const closed = value.replaceAll("'", "'\\''").replace(/\{(?=\{)/g, "{''");
  return `'${closed}'`;
}
