/** Quotes a path or a name for display in a command: only where needed, single quotes where double ones expand. */
export function quoted(text: string): string {
  if (/^[\w./-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? shellWord(text) : `"${text}"`;
}

export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Puts a text in a fence that nothing in it can close. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}
