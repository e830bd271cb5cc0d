import { lines } from '../../text/markdown/lines.ts';

/** Finding in the agent's log: `### FINDING-NNN: [Category] Title` and its fields below. */
export interface Finding {
  readonly id: string;
  readonly category: string | null;
  readonly title: string;
  readonly severity: string | null;
  readonly file: string | null;
  readonly problem: string | null;
  /** First word of its last `Status`, in capitals; null if it has none. */
  readonly status: string | null;
  /** Line of the heading, from 1. */
  readonly line: number;
}

const FINDING = /^[*_`\s]{0,3}(FINDING-\d{1,9})\b[*_`:\s]{0,6}(?:\[([^\]]*)\])?[\s:.–—-]*(.*)$/is;
const FIELD = /^[\s>*+_-]*(severity|file|problem|status)[\s*_]*:[\s*_]*(.*)$/is;

/** Returns the findings of a log outside code fences and comments, in order; if a number repeats, the later one. */
export function readFindings(text: string): Finding[] {
  const findings = new Map<string, Finding>();
  let current: { id: string; level: number } | null = null;
  for (const { text: line, number, inFence, heading } of lines(text)) {
    if (inFence) continue;
    if (heading !== null && !heading.isUnderline) {
      const finding = readHeading(heading.title, number);
      if (finding !== null) {
        findings.delete(finding.id);
        findings.set(finding.id, finding);
        current = { id: finding.id, level: heading.level };
      } else if (current !== null && heading.level <= current.level) current = null;
      continue;
    }
    const finding = current && findings.get(current.id);
    if (finding) findings.set(finding.id, withField(finding, line));
  }
  return [...findings.values()];
}

/** Returns findings with any status but FIXED and FIXED_…: rejecting a true claim costs a turn, accepting a false one the loop. */
export function openFindings(text: string): Finding[] {
  return readFindings(text).filter(({ status }) => !/^FIXED(?:_|$)/.test(status ?? ''));
}

function readHeading(title: string, line: number): Finding | null {
  const [, id, category, rest = ''] = FINDING.exec(title) ?? [];
  if (id === undefined) return null;
  return {
    id: id.toUpperCase(),
    category: category?.trim() || null,
    title: withoutMarks(rest),
    severity: null,
    file: null,
    problem: null,
    status: null,
    line,
  };
}

function withField(finding: Finding, line: string): Finding {
  const [, name = '', raw = ''] = FIELD.exec(line) ?? [];
  const value = withoutMarks(raw);
  switch (name.toLowerCase()) {
    case 'severity':
      return { ...finding, severity: value };
    case 'file':
      return { ...finding, file: value };
    case 'problem':
      return { ...finding, problem: value };
    case 'status':
      return { ...finding, status: /[a-z]\w*/i.exec(value)?.[0].toUpperCase() ?? null };
    default:
      return finding;
  }
}

/** Removes Markdown marks around a text. A loop, because `[…]+$` is quadratic on a long run of blanks. */
function withoutMarks(text: string): string {
  const mark = (at: number): boolean => ' \t*_`#'.includes(text.charAt(at));
  let [start, end] = [0, text.length];
  while (start < end && mark(start)) start += 1;
  while (end > start && mark(end - 1)) end -= 1;
  return text.slice(start, end);
}
