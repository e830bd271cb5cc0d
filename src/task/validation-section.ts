import { LINE_END } from '../core/line-end.ts';
import { stepFence } from '../core/step-fence.ts';

export interface ValidationSection {
  /** Line of the heading, from 1, within the body. */
  readonly line: number;
  /** The lines between the heading and the next one of the same or a higher level. */
  readonly lines: readonly string[];
}

/** The section of a task file's body whose heading says "Validation Commands", or null. */
export function validationSection(body: string): ValidationSection | null {
  const lines = body.split(LINE_END);
  let fence: string | null = null;
  let found: { line: number; level: number } | null = null;
  for (const [index, line] of lines.entries()) {
    const step = stepFence(fence, line);
    fence = step.fence;
    if (step.inside) continue;
    const [, hashes, title = ''] = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/s.exec(line) ?? [];
    if (hashes === undefined) continue;
    if (found !== null && hashes.length <= found.level)
      return { line: found.line, lines: lines.slice(found.line, index) };
    if (found === null && isTitle(title)) found = { line: index + 1, level: hashes.length };
  }
  return found && { line: found.line, lines: lines.slice(found.line) };
}

function isTitle(text: string): boolean {
  const words = text
    .replace(/[*_`#:]/g, ' ')
    .trim()
    .split(/\s+/)
    .join(' ')
    .toLowerCase();
  return /^(?:\d+[.)] ?)?validation commands?$/.test(words);
}
