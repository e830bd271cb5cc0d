import { escapeGlob } from '../glob.ts';
import type { ShellWord } from '../shell-reading.ts';
import { literalOrNull } from '../walk.ts';

/** The path that a file gets in a directory: the directory and the file's basename. */
export function joinWords(directory: ShellWord, file: ShellWord): ShellWord {
  const template = `${directory.template}/${lastSegment(file.template)}`;
  const base = { text: literalOrNull(template), template, source: directory.source };
  if (directory.pattern === undefined && file.pattern === undefined) return base;
  const pattern = `${directory.pattern ?? escapeGlob(directory.template)}/${lastSegment(file.pattern ?? escapeGlob(file.template))}`;
  return { ...base, glob: true, pattern };
}

function lastSegment(path: string): string {
  const cut = path.replace(/\/+$/, '');
  return cut.slice(cut.lastIndexOf('/') + 1);
}
