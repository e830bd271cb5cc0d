import { ARGUMENT_NAME } from './name-problem.ts';

/** What is wrong with the arguments that a start was given, one sentence each, for a RALPH.md that declares these. */
export function argumentProblems(declared: readonly string[], given: Readonly<Record<string, string>>): string[] {
  const known = declared.length === 0 ? 'it declares none' : `it declares ${declared.join(', ')}`;
  const problems: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (!declared.includes(name)) {
      problems.push(`--arg ${name}: the RALPH.md has no argument of this name under "args:" (${known}).`);
    } else if (value.includes('\0')) problems.push(`--arg ${name}: a value cannot hold a NUL character.`);
  }
  for (const name of declared) {
    if (!Object.hasOwn(given, name))
      problems.push(`the argument "${name}" has no value. Give it: --arg ${name}=VALUE.`);
  }
  return problems;
}

/** `name=value` pairs as a record, or what is wrong with the first pair that is none. */
export function readArguments(
  pairs: readonly string[],
): { readonly args: Readonly<Record<string, string>> } | { readonly problem: string } {
  const args: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at === -1) return { problem: `--arg ${pair}: write it as name=value.` };
    const name = pair.slice(0, at);
    if (!ARGUMENT_NAME.test(name) || name === '__proto__') {
      return {
        problem: `--arg ${pair}: "${name}" is no name of an argument: letters, digits, "_" and "-", not beginning with "-".`,
      };
    }
    if (Object.hasOwn(args, name)) return { problem: `--arg ${name} was given twice. Give each argument once.` };
    args[name] = pair.slice(at + 1);
  }
  return { args };
}
