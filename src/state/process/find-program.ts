import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Finds a program on the PATH. Ignores relative entries, which would let the project choose the program. */
export function onPath(name: string, env: Readonly<Record<string, string | undefined>>): string | null {
  const path = env['PATH'] ?? env['Path'] ?? '';
  const names = process.platform === 'win32' ? [`${name}.exe`, name] : [name];
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const found = names.map((each) => join(folder, each)).find(isExecutable);
    if (found !== undefined) return found;
  }
  return null;
}

export function isExecutable(path: string): boolean {
  try {
    // Most folders of a PATH lack the program, and an exception takes longer than all the other checks.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Number of bytes that the system reads to find the interpreter of a script. */
const LONGEST_FIRST_LINE = 256;

/** Returns whether the system can start a program: the file is executable and, for a script, so is its interpreter. */
export function canStart(path: string): boolean {
  if (!isExecutable(path)) return false;
  const bytes = Buffer.alloc(LONGEST_FIRST_LINE);
  try {
    const file = openSync(path, constants.O_RDONLY);
    try {
      readSync(file, bytes);
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
  const [, interpreter] = /^#![ \t]*([^\s\0]*)/.exec(bytes.toString('latin1')) ?? [];
  return interpreter === undefined || (isAbsolute(interpreter) && isExecutable(interpreter));
}
