/** The first 70 % and the last 30 % of a text that is too long, with its length marked. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = Math.floor(limit * 0.7);
  return `${text.slice(0, head)}\n[... ${text.length} characters in all ...]\n${text.slice(text.length - (limit - head))}`;
}

/** Characters of a command's output that its record keeps; the prompt has more. */
export const PREVIEW_LIMIT = 500;
