import { existsSync, readFileSync } from 'node:fs';
import { regularFile, TASK_FILE_BYTES } from '../../state/files/regular-file.ts';
import { hideFleetVariables } from '../../state/process/fleet-variables.ts';
import { evaluateJson, type SchemaProblem } from '../../task/skill-contract/schema-problems.ts';
import { printable } from '../../term/format.ts';

/** Checks JSON from an argument (text or file) or standard input. Prints problems; exits with 0, or 2 if there are any. */
export function validateInput(
  what: string,
  check: (value: unknown) => readonly SchemaProblem[],
  unknown: (value: unknown) => readonly string[] = () => [],
): void {
  const say = (lines: readonly string[]): void => {
    if (lines.length > 0) process.stderr.write(`ralph-loop: ${printable(lines.join('\n'))}\n`);
  };
  hideFleetVariables(process.env);
  let text: string;
  try {
    text = readJsonInput(process.argv[2]);
  } catch (error) {
    say([`the ${what} cannot be read: ${(error as Error).message}`]);
    process.exitCode = 2;
    return;
  }
  const judged = evaluateJson(text, what, check);
  const others = judged.code === 0 ? unknown(JSON.parse(text.replace(/^\uFEFF/, ''))) : [];
  const ignored = `the ${what} has keys that this skill does not know, which do nothing: ${others.join(', ')}`;
  say(others.length === 0 ? judged.lines : [...judged.lines, ignored]);
  process.exitCode = judged.code;
}

/** Returns the text to validate: the argument if it is JSON, else the file that it names, else standard input. */
function readJsonInput(argument: string | undefined): string {
  if (argument === undefined || argument === '-') return readFileSync(0, 'utf8');
  return /^\s*[{["\d]|^\s*(?:true|false|null)\b/.test(argument) && !existsSync(argument)
    ? argument
    : readFileSync(regularFile(argument, TASK_FILE_BYTES), 'utf8');
}
