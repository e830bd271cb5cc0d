import type { ShellCommand, ShellReading } from '../shell/shell-reading.ts';
import { plainText } from './command-texts.ts';
import { nativeRegExp } from './native-reg-exp.ts';

/** The allowlist judges what these start instead of them. */
const TRANSPARENT = new Set(['env', 'timeout', 'nice', 'time', 'nohup', 'command']);

/** The first simple command that no pattern of the allowlist matches whole; null where all may run. */
export function firstNotAllowed(allow: readonly string[], reading: ShellReading): ShellCommand | null {
  const patterns = allow.map((pattern) => nativeRegExp(pattern, true));
  const judged = [...reading.commands, ...reading.opened.filter((command) => !TRANSPARENT.has(command.path))];
  return judged.find((command) => !isAllowed(command, patterns)) ?? null;
}

function isAllowed(command: ShellCommand, patterns: readonly RegExp[]): boolean {
  // A program whose name has a space in it would pass for a program with arguments.
  if (/\s/.test(command.path)) return false;
  const text = plainText(command);
  return patterns.some((pattern) => pattern.test(text));
}
