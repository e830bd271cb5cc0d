import { stepFence } from './lines.ts';

/** A piece of a text that stays. */
export interface KeptText {
  readonly text: string;
  /** Where it begins in the whole text. */
  readonly at: number;
}

/**
 * The pieces of a Markdown text outside its HTML comments, in order. A comment within a code fence or inline code is
 * an example and stays; one that is never closed stays too, because a whole task would be lost with it. A comment that
 * has its lines to itself goes with its last line's end, so that it leaves no empty line.
 */
export function outsideComments(text: string): KeptText[] {
  const kept: KeptText[] = [];
  let from = 0;
  for (const { start, end } of comments(text)) {
    if (start > from) kept.push({ text: text.slice(from, start), at: from });
    from = end;
  }
  if (from < text.length) kept.push({ text: text.slice(from), at: from });
  return kept;
}

function* comments(text: string): Generator<{ start: number; end: number }> {
  const last = text.lastIndexOf('-->');
  let fence: string | null = null;
  for (let at = 0; at < text.length; ) {
    const next = nextLine(text, at);
    const step: ReturnType<typeof stepFence> = beginsLine(text, at)
      ? stepFence(fence, withoutEnd(text.slice(at, next)))
      : { fence, inside: false };
    fence = step.fence;
    if (step.inside) at = next;
    while (at < next) {
      const start = opening(text, at, next);
      const end = start < Math.min(next, last) ? text.indexOf('-->', start + 4) : -1;
      if (end !== -1) yield withItsLines(text, start, end + 3);
      at = end === -1 ? next : end + 3;
    }
  }
}

/** Where the first `<!--` of the line outside inline code begins; `next`, the line's end, where there is none. */
function opening(text: string, from: number, next: number): number {
  const mark = /`+|<!--/g;
  for (let at = from; ; ) {
    mark.lastIndex = at;
    const found = mark.exec(text);
    if (found === null || found.index >= next) return next;
    if (found[0] === '<!--') return found.index;
    at = closing(text, found.index + found[0].length, next, found[0]);
  }
}

/** The end of the run of backticks that closes this one; where none does, it is text, and what follows it comes next. */
function closing(text: string, from: number, next: number, run: string): number {
  const runs = /`+/g;
  runs.lastIndex = from;
  for (let found = runs.exec(text); found !== null && found.index < next; found = runs.exec(text)) {
    if (found[0] === run) return found.index + run.length;
  }
  return from;
}

function withItsLines(text: string, start: number, end: number): { start: number; end: number } {
  let begin = start;
  while (isBlank(text[begin - 1])) begin -= 1;
  let rest = end;
  while (isBlank(text[rest])) rest += 1;
  const alone = beginsLine(text, begin) && (rest === text.length || text[rest] === '\n' || text[rest] === '\r');
  return alone ? { start: begin, end: nextLine(text, rest) } : { start, end };
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}

function withoutEnd(line: string): string {
  return line.replace(/[\r\n]+$/, '');
}

function beginsLine(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === '\n' || (text[at - 1] === '\r' && text[at] !== '\n');
}

function nextLine(text: string, at: number): number {
  const ending = /\r\n|[\n\r]/g;
  ending.lastIndex = at;
  const found = ending.exec(text);
  return found === null ? text.length : found.index + found[0].length;
}
