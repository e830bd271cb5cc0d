/** What a command or an argument may be called: the form in which `{{ commands.NAME }}` finds it. */
export const ARGUMENT_NAME = /^\w[\w-]*$/;

/** null when a command or an argument can have this name, else what is wrong with it. */
export function nameProblem(name: string): string | null {
  if (!ARGUMENT_NAME.test(name)) return 'must be letters, digits, "_" and "-", not beginning with "-"';
  if (name.length > 64) return 'must have at most 64 characters';
  // As a key of a plain object it would be lost.
  return name === '__proto__' ? 'must be another name: this one is JavaScript’s own' : null;
}
