const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/s;

/**
 * One line of a Markdown text, for readers that pass over code fences: `fence` is the mark of the fence that is open
 * after it, or null; `inside` says that the line belongs to one, as its mark or its content. For whole fences as
 * CommonMark has them, in lists too, see visible-lines.
 */
export function stepFence(fence: string | null, line: string): { fence: string | null; inside: boolean } {
  const [, marks, info = ''] = FENCE.exec(line) ?? [];
  if (fence !== null) {
    const closed = marks?.startsWith(fence) && info.trim() === '';
    return { fence: closed ? null : fence, inside: true };
  }
  const opened = marks !== undefined && !(marks.startsWith('`') && info.includes('`'));
  return { fence: opened ? marks : null, inside: opened };
}
