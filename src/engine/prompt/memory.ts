import { lines } from '../../text/markdown/lines.ts';

/** File in which loops and agents of a project leave notes for later ones. */
export interface MemoryFile {
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

/** Tells a fresh context which memory files to read and where to record decisions; null without any. */
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
