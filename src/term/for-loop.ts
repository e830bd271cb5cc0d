/**
 * The commands that a text of ours advises, made to mean the loop that it is about: a named one has to be named. A
 * command that names a loop already stays as it is.
 */
export function forLoop(text: string, name: string | null): string {
  if (name === null) return text;
  return text.replace(/(?:main\.cjs (?!list\b)[a-z]+|ralph-audit\.sh)\b(?! --loop)/g, `$& --loop ${name}`);
}
