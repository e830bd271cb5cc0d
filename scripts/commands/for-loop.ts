/** The commands that a text advises, given to the loop it is about: a named one has to be named. The text is ours. */
export function forLoop(text: string, name: string | null): string {
  return name === null ? text : text.replace(/main\.cjs (?!list\b)[a-z]+|ralph-audit\.sh/g, `$& --loop ${name}`);
}
