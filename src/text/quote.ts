/** Quotes a path or name for display in a command: only if necessary, in single quotes if double ones would expand. */
export function quoted(text: string): string {
  if (/^[\w./-]+$/.test(text)) return text;
  return /["$`\\!]/.test(text) ? shellWord(text) : `"${text}"`;
}

export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Puts a text in a fence that its content cannot close. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`;
}

/** Shortens a long text to its beginning (a share of `limit`) and its end, with its length in between. */
export function shorten(text: string, limit: number, share = 0.7): string {
  if (text.length <= limit) return text;
  const head = Math.floor(limit * share);
  return `${text.slice(0, head)}\n[... ${text.length} characters in all ...]\n${text.slice(text.length - (limit - head))}`;
}

/** Returns the beginning of a text, with "…" if there is more. */
export function excerpt(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** Lists the first texts: `a, b and 3 more`. */
export function listed(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  return `${texts.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Writes a character as JSON's `\\u0041`. */
export function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Returns a text on one line, with single spaces. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Returns the text with a final full stop, so that another sentence can follow. */
export function asSentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}

/** Quotes the last output of a program as a sentence; '' if there is none. */
export function lastWordsText(words: string): string {
  return words === '' ? '' : ` It said: "${words.replace(/\.$/, '')}".`;
}

/** Number of characters of a command's output in its record; the prompt has more. */
export const PREVIEW_LIMIT = 500;
