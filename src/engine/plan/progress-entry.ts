import { counted } from '../../text/figures.ts';
import { excerpt } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';
import type { CheckResult } from '../events.ts';
import type { PlanState } from '../schema/plan.ts';
import { statedBlockers } from './blockers.ts';

export interface ProgressEntry {
  /** Identifies the entry, so that it is not written twice. */
  readonly id: string;
  readonly task: { readonly id: string; readonly title: string };
  readonly session: string;
  readonly at: string;
  readonly status: 'completed' | 'blocked' | 'partial';
  readonly iteration: number;
  readonly changes: readonly string[];
  readonly commands: readonly CheckResult[];
  readonly reasons: readonly string[];
  readonly report: PlanState['report'];
  /** What a completion rests on, in one line; null for other statuses. */
  readonly proof: string | null;
  readonly next: string;
}

const MOST_CHANGES = 40;
const LINE_LIMIT = 600;
const LABEL =
  /^[-*+\s]*(?:\*\*|__)?(learnings?|blockers?|summary|next(?: action| step)?)(?:\*\*|__)?\s*:\s*(?:\*\*|__)?\s*(.*)$/i;

/** Returns an entry of a progress file, with a final line end. It quotes the agent, with secrets masked. */
export function progressEntry(entry: ProgressEntry): string {
  const { task, changes, commands, reasons, report, proof } = entry;
  const said = labelled(report?.text ?? '');
  const stated = statedBlockers(report?.text ?? '');
  const blockers = [...reasons, ...(stated === null ? [] : [stated])];
  const shown = changes.slice(0, MOST_CHANGES).map((path) => `\`${path}\``);
  const more = changes.length > MOST_CHANGES ? [`${changes.length - MOST_CHANGES} more`] : [];
  const lines = [
    `## ${task.id}: ${oneLine(task.title)}`,
    '',
    `<!-- ${entry.id} -->`,
    `- Status: ${entry.status}`,
    `- Session: ${entry.session}, ${entry.at}`,
    `- Iteration: ${entry.iteration}`,
    `- Changes: ${[...shown, ...more].join(', ') || 'none'}`,
    `- Commands: ${commands.map(({ name, outcome }) => `${name}: ${outcome}`).join('; ') || 'none'}`,
    ...(proof === null ? [] : [`- Proof: ${oneLine(proof)}`]),
    `- Summary: ${said.summary || 'none given'}`,
    `- Learnings: ${said.learnings || 'none given'}`,
    `- Blockers: ${blockers.map(oneLine).join(' / ') || 'none'}`,
    `- Next: ${oneLine(entry.next)}`,
  ];
  return `\n${lines.join('\n')}\n`;
}

/** Returns the entry of a session that paused for review. */
export function pausedEntry(tasks: number, at: string, next: string): string {
  return `\n## Paused after ${counted(tasks, 'task')} for review\n\n- At: ${at}\n- Next: ${oneLine(next)}\n`;
}

/**
 * Returns the last entry of a progress file in one line, for a hand-off; null if there is none. Reads our own entries and
 * those of other tools: bold labels, lists below a label, or plain text.
 */
export function lastProgress(text: string): string | null {
  const last = text
    .split(/^## (?!Paused after )/m)
    .slice(1)
    .at(-1);
  if (last === undefined) return null;
  const [head = '', ...lines] = last.split(/\r?\n/);
  const of = (...labels: string[]): string =>
    oneLine(labels.map((label) => partOf(lines, label)).find((text) => text !== '') ?? '');
  const [status, summary, learnings] = [
    of('status'),
    of('summary', 'what was done', 'implemented', 'changes'),
    of('learnings', 'notes'),
  ];
  const plain = lines.filter((line) => line.trim() !== '' && !LABELLED.test(line)).join(' ');
  const said = summary || oneLine(plain) || 'no summary';
  return `${head.trim()}${status && ` (${status})`}: ${said}${learnings && ` Learnings: ${learnings}`}`;
}

const LABELLED = /^[-*+\s]*(?:\*\*|__)?([A-Za-z][\w ]*?)(?:\*\*|__)?\s*:\s*(?:\*\*|__)?\s*(.*)$/;

/** Returns the text after a label, or the list below it; '' without the label. */
function partOf(lines: readonly string[], label: string): string {
  const at = lines.findIndex((line) => LABELLED.exec(line)?.[1]?.toLowerCase() === label);
  const text = LABELLED.exec(lines[at] ?? '')?.[2] ?? '';
  if (at === -1 || text !== '') return text;
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => line.trim() === '' || LABELLED.test(line));
  return (end === -1 ? rest : rest.slice(0, end)).map((line) => line.replace(/^[-*+\s]+/, '')).join('; ');
}

/** Returns the labelled lines of the agent's last message; without a summary, its first paragraph. */
function labelled(text: string) {
  const found = new Map<string, string[]>();
  let label = '';
  const visible = text.replace(/<!--[\s\S]*?-->/g, '');
  for (const line of visible.split(/\r?\n/)) {
    const [, name, rest = ''] = LABEL.exec(line) ?? [];
    if (name !== undefined) label = name.toLowerCase().replace(/s$/, '');
    else if (line.trim() === '') label = '';
    const said = name === undefined ? line : rest;
    if (label !== '' && said.trim() !== '') found.set(label, [...(found.get(label) ?? []), said.trim()]);
  }
  const of = (name: string): string => oneLine((found.get(name) ?? []).join(' '));
  const first = visible.trim().split(/\r?\n\s*\r?\n/)[0] ?? '';
  return { summary: of('summary') || oneLine(first), learnings: of('learning') };
}

/** Returns quoted text in one line, so that its headings and comments do not become part of the file's structure. */
function oneLine(text: string): string {
  const line = redact(text).replace(/\s+/g, ' ').replaceAll('<!--', '').replaceAll('-->', '').trim();
  return excerpt(line, LINE_LIMIT);
}
