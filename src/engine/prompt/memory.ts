import { lines } from '../../text/markdown/lines.ts';

/** File with notes that loops and agents of a project leave for later ones. */
export interface MemoryFile {
  readonly path: string;
  /** Number of entries; null if the file is too long to be counted. */
  readonly entries: number | null;
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
