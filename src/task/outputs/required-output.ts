import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ifOutOfReach } from '../../state/files/regular-file.ts';
import { sha256 } from '../../state/hash-contract.ts';
import { isWithin } from '../project-file.ts';

export type Output =
  | { readonly kind: 'absent' | 'empty' | 'foreign' }
  /** The mark is the same as long as the file, or the files of the folder, stay as they are. */
  | { readonly kind: 'there'; readonly mark: () => string };

/** Files of this size and more are recognised by their size and time. */
const MOST_HASHED = 64 * 1024 * 1024;
/** Files up to this size may be blank. */
const MOST_BLANK = 4096;
const MOST_FILES = 2_000;

/** Looks at a required output: a file that is not blank, or a folder with one, inside the task's folder. Never throws. */
export function lookAtOutput(folder: string, path: string): Output {
  const whole = join(folder, path);
  // A folder on the way is inaccessible, or not a folder.
  const isThere = ifOutOfReach(() => lstatSync(whole, { throwIfNoEntry: false }) !== undefined, false);
  if (!isThere) return { kind: 'absent' };
  return ifOutOfReach(
    (): Output => {
      if (!isWithin(realpathSync(folder), realpathSync(whole))) return { kind: 'foreign' };
      const stat = statSync(whole);
      if (stat.isFile())
        return isBlank(whole, stat.size) ? { kind: 'empty' } : { kind: 'there', mark: () => markOf(whole) };
      if (!stat.isDirectory()) return { kind: 'foreign' };
      const files = filesBelow(whole);
      const isEmpty = files.every((file) => isBlank(file, statSync(file).size));
      return isEmpty ? { kind: 'empty' } : { kind: 'there', mark: () => sha256(files.map(markOf).join('\n')) };
    },
    { kind: 'foreign' },
  );
}

function isBlank(file: string, size: number): boolean {
  return size <= MOST_BLANK && readFileSync(file, 'utf8').trim() === '';
}

function markOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return size > MOST_HASHED ? `${size} ${mtimeMs}` : sha256(readFileSync(file));
}

/** Lists the first regular files below a folder, in order; links are not followed. */
function filesBelow(folder: string): string[] {
  const files: string[] = [];
  const visit = (at: string): void => {
    const entries = readdirSync(at, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (files.length === MOST_FILES) return;
      if (entry.isFile()) files.push(join(at, entry.name));
      else if (entry.isDirectory()) visit(join(at, entry.name));
    }
  };
  visit(folder);
  return files;
}
