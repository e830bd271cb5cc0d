import { parse } from 'unbash';
import { type Placeholder, placeholdersOf, RALPH_NAMES, replaced } from '../frontmatter/placeholders.ts';
import { isInCode, type ShellPlace, shellPlaces } from './shell-text.ts';

const MAX_LENGTH = 16_384;
const MAX_PLACES = 50;

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
  const places = placesOf(run, placeholders);
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
    const place = places[index];
    if (!isText(placeholder) || typeof place !== 'object') return [];
    const message = `uses ${shown} ${place.unsafe}, where a value cannot be quoted safely.`;
    return [{ rule: 'unsafe-placeholder', message, severity: 'error' }];
  });
}

/**
 * The command as the shell gets it. An argument's value arrives as exactly this text within its word, whatever it holds;
 * the number of the iteration is left to `runOfIteration`, and nothing that a value holds is ever taken for it. The
 * command must be one in which `commandProblems` finds no error, and no value may hold a NUL.
 */
export function fillCommand(run: string, { args, name, maxIterations }: CommandValues): string {
  const places = placesOf(run, placeholdersOf(run));
  let index = -1;
  return replaced(run, (placeholder) => {
    index += 1;
    if (placeholder.kind === 'ralph' && placeholder.name === 'max_iterations') return String(maxIterations);
    if (!isText(placeholder)) return null;
    const value = placeholder.kind === 'ralph' ? name : (args[placeholder.name] ?? '');
    return inPlace(quoted(value), places[index] ?? 'bare');
  });
}

/** A text that anybody may choose; the others are numbers. */
function isText({ kind, name }: Placeholder): boolean {
  return kind === 'args' || (kind === 'ralph' && name === 'name');
}

/** Each place costs a reading of the whole command, and beyond its bounds the parser sees nothing. */
function placesOf(run: string, placeholders: readonly Placeholder[]): ShellPlace[] {
  if (run.length > MAX_LENGTH) return placeholders.map(() => ({ unsafe: `in more than ${MAX_LENGTH} characters` }));
  if (placeholders.length > MAX_PLACES) return placeholders.map(() => ({ unsafe: `among more than ${MAX_PLACES}` }));
  const places = shellPlaces(run, placeholders);
  return places.map((place, index) => {
    if (typeof place === 'object') return place;
    const mark = `RALPHPLACE${index}RALPH`;
    let other = -1;
    const marked = replaced(run, () => {
      other += 1;
      return other === index ? inPlace(quoted(mark), place) : '0';
    });
    if ((parse(marked).errors?.length ?? 0) > 0) return { unsafe: 'in a command that does not parse' };
    return isInCode(marked, mark)
      ? { unsafe: 'in code for a second program (pass it as an argument: bash -c \'… "$1"\' _ VALUE)' }
      : place;
  });
}

/** Out of the quotes that are open, the value in quotes of its own, and in again. */
function inPlace(word: string, place: ShellPlace): string {
  if (place === 'double') return `"${word}"`;
  return place === 'single' ? `'${word}'` : word;
}

/** As one word of a POSIX shell, in which no placeholder can be read. */
function quoted(value: string): string {
  const closed = value.replaceAll("'", "'\\''").replace(/\{(?=\{)/g, "{''");
  return `'${closed}'`;
}
