/** Quotes a path or a name for display in a command: only where needed, single quotes where double ones expand. */
export function quoted(text: string): string {
  if (/^[\w./-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? shellWord(text) : `"${text}"`;
}

export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
