import { lines } from '../../text/markdown/lines.ts';

/** A file in which loops and agents of a project write what the ones after them should know. */
export interface MemoryFile {
  /** Relative to the project. */
  readonly path: string;
  /** null where it is too long to be counted. */
  readonly entries: number | null;
}

/** The entries of a memory file: its headings below the title or, where it has none, the items of its lists. */
export function countEntries(text: string): number {
  const visible = [...lines(text)].filter(({ inFence }) => !inFence).map(({ raw }) => raw);
  const headings = visible.filter((line) => /^#{2,6} /.test(line)).length;
  return headings > 0 ? headings : visible.filter((line) => /^[-*+] /.test(line)).length;
}

/**
 * What a fresh context learns of the project's memory: where there is something to read, and where its own
 * decisions go; null where the project keeps none. Names files and no contents, so that it is short in any project.
 */
export function memoryText(files: readonly MemoryFile[]): string | null {
  const read = files.filter(({ entries }) => entries !== 0);
  const decisions = files.find(({ path }) => path.endsWith('/decisions.md'));
  const lines = [
    ...(read.length === 0
      ? []
      : [`Earlier work left its memory here; read it before you begin: ${read.map(named).join(', ')}.`]),
    ...(decisions === undefined
      ? []
      : [`A decision about the architecture goes to ${decisions.path}, with its reason.`]),
  ];
  return lines.length === 0 ? null : lines.join(' ');
}

function named({ path, entries }: MemoryFile): string {
  if (entries === null) return `${path} (very long: read its end)`;
  return `${path} (${entries === 1 ? '1 entry' : `${entries} entries`})`;
}
