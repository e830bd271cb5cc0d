import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ifOutOfReach, readRegularFile } from '../state/files/regular-file.ts';
import { lines } from '../text/markdown/lines.ts';
import { DECISIONS, LEARNINGS } from './task-file.ts';

/** File with notes that loops and agents of a project leave for later ones. */
export interface MemoryFile {
  readonly path: string;
  /** Number of entries; null if the file is too long to be counted. */
  readonly entries: number | null;
}

/** Size above which entries are not counted. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Returns the memory that earlier loops left in a project. Throws errors of a failing disk. */
export function projectMemory(projectDir: string): MemoryFile[] {
  return [LEARNINGS, DECISIONS].flatMap((path): MemoryFile[] => {
    const file = join(projectDir, path);
    const text = readRegularFile(file, MAX_BYTES);
    if (text !== null) return [{ path, entries: countEntries(text) }];
    // Too large or inaccessible.
    return ifOutOfReach(() => statSync(file).isFile(), false) ? [{ path, entries: null }] : [];
  });
}

/** Counts the entries of a memory file: the headings below its title or, without any, its list items. */
export function countEntries(text: string): number {
  const visible = [...lines(text)].filter(({ inFence }) => !inFence).map(({ raw }) => raw);
  const headings = visible.filter((line) => /^#{2,6} /.test(line)).length;
  return headings > 0 ? headings : visible.filter((line) => /^[-*+] /.test(line)).length;
}

/** Tells a fresh context which memory files to read and where to record decisions; null if there are none. */
export function memoryText(files: readonly MemoryFile[]): string | null {
  const read = files.filter(({ entries }) => entries !== 0);
  const decisions = files.find(({ path }) => path.endsWith('/decisions.md'));
  const lines = [
    ...(read.length === 0
      ? []
      : [`Earlier work left notes; read them before you begin: ${read.map(named).join(', ')}.`]),
    ...(decisions === undefined
      ? []
      : [`Record decisions about the architecture in ${decisions.path}, with the reason.`]),
  ];
  return lines.length === 0 ? null : lines.join(' ');
}

function named({ path, entries }: MemoryFile): string {
  if (entries === null) return `${path} (very long: read its end)`;
  return `${path} (${entries === 1 ? '1 entry' : `${entries} entries`})`;
}
