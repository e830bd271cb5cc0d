import type { Span } from './line-comments.ts';
import { lines } from './lines.ts';

/**
 * Returns the parts of a Markdown text outside its HTML comments, in order, each with its offset. A comment on lines of its
 * own includes its last line's terminator, so that no empty line remains.
 */
export function outsideComments(text: string) {
  const kept: { readonly text: string; readonly at: number }[] = [];
  let from = 0;
  for (const { comments } of text.includes('<!--') ? lines(text) : []) {
    for (const { start, end } of comments.map((comment) => withItsLines(text, comment))) {
      if (start > from) kept.push({ text: text.slice(from, start), at: from });
      from = end;
    }
  }
  if (from < text.length) kept.push({ text: text.slice(from), at: from });
  return kept;
}

function withItsLines(text: string, { start, end }: Span): Span {
  let begin = start;
  while (isBlank(text[begin - 1])) begin -= 1;
  let rest = end;
  while (isBlank(text[rest])) rest += 1;
  const [terminator] = /^(?:\r\n|[\n\r])/.exec(text.slice(rest, rest + 2)) ?? [];
  const isAlone =
    [undefined, '\n', '\r'].includes(text[begin - 1]) && (rest === text.length || terminator !== undefined);
  return isAlone ? { start: begin, end: rest + (terminator?.length ?? 0) } : { start, end };
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}
