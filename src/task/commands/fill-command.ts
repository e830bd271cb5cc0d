import { isInCode } from '../../text/shell/command-words.ts';
import { isParsable, MAX_SHELL_TEXT } from '../../text/shell/parse-shell.ts';
import { type QuoteContext, quoteContexts } from '../../text/shell/quote-context.ts';
import { type Placeholder, placeholdersOf, RALPH_NAMES, replaced } from '../frontmatter/placeholders.ts';

export interface CommandValues {
  readonly args: Readonly<Record<string, string>>;
  readonly name: string;
  readonly maxIterations: number;
}

export interface CommandProblem {
  readonly rule: 'placeholder' | 'unsafe-placeholder' | 'unknown-placeholder';
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

/** Finds problems of a command's placeholders, for any values of the arguments. */
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

/** Keeps each value within its word. Requires a command without errors from `commandProblems`, values without NUL. */
export function fillCommand(run: string, { args, name, maxIterations }: CommandValues): string {
  const contexts = contextsOf(run, placeholdersOf(run));
  return replaced(run, (placeholder, index) => {
    if (placeholder.kind === 'ralph' && placeholder.name === 'max_iterations') return String(maxIterations);
    if (!isText(placeholder)) return null;
    const value = placeholder.kind === 'ralph' ? name : (args[placeholder.name] ?? '');
    return inContext(quoted(value), contexts[index] ?? 'bare');
  });
}

/** Text chosen by the user; other values are numbers. */
function isText({ kind, name }: Placeholder): boolean {
  return kind === 'args' || (kind === 'ralph' && name === 'name');
}

/** Determines the quotes around each placeholder with marks in its place, then parses the result with quoted marks. */
function contextsOf(run: string, placeholders: readonly Placeholder[]): QuoteContext[] {
  if (run.length > MAX_SHELL_TEXT) {
    return placeholders.map(() => ({ unsafe: `in more than ${MAX_SHELL_TEXT} characters` }));
  }
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

/** Quotes as one POSIX word in which no placeholder can be read. */
function quoted(value: string): string {
  const closed = value.replaceAll("'", "'\\''").replace(/\{(?=\{)/g, "{''");
  return `'${closed}'`;
}
