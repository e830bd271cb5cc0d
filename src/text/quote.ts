/**
 * A path or a name as a person writes it in a shell, to be shown in a command: quoted where it has to be, and with
 * single quotes where a shell would read something into double ones.
 */
export function quoted(text: string): string {
  if (/^[\w./-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? shellWord(text) : `"${text}"`;
}

/** A text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
