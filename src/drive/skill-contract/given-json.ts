import { existsSync, readFileSync } from 'node:fs';

/** The text that a validator is to judge: the argument itself where it is JSON, the file that it names, or standard input. */
export function givenJson(argument: string | undefined): string {
  if (argument === undefined || argument === '-') return readFileSync(0, 'utf8');
  return /^\s*[{["\d]|^\s*(?:true|false|null)\b/.test(argument) && !existsSync(argument)
    ? argument
    : readFileSync(argument, 'utf8');
}
