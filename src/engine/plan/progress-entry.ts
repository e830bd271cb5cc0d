import { counted } from '../../text/figures.ts';
import { excerpt } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';
import type { CheckResult } from '../events.ts';
import { proofOf, turnedGreen } from '../policy/proof.ts';
import type { PlanState } from '../schema/plan.ts';
import type { Baseline, Proof } from '../schema/proof.ts';
import { statedBlockers } from './blockers.ts';

export interface ProgressEntry {
  /** Identifies the entry, to detect whether it was already written. */
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
  /** What a completion rests on, in one line; null for another status. */
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
 * Returns the last entry of a progress file in one line, for a hand-off; null if there is none. Reads our entries, and those
 * of other tools: labels in bold, lists below a label, or plain text.
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

/** Returns the text behind a label, or the list below it; '' without the label. */
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

/** Keeps headings and comments in quoted text from becoming part of the file's structure. */
function oneLine(text: string): string {
  const line = redact(text).replace(/\s+/g, ' ').replaceAll('<!--', '').replaceAll('-->', '').trim();
  return excerpt(line, LINE_LIMIT);
}

/** Work on a task of a plan, from its first attempt on. */
export interface TaskWork {
  /** Changed files inside the task's scope, without plan and progress file. */
  readonly changes: readonly string[];
  readonly noChange: boolean;
  /** Results of the checks when the task began; undefined if they are unknown. */
  readonly baseline: Baseline | undefined;
}

/** Returns whether the work can be evidence, whatever the checks say now: otherwise they need not run. */
export function mayBeProved({ changes, noChange, baseline }: TaskWork): boolean {
  return changes.length > 0 || noChange || (baseline?.checks ?? []).some(({ outcome }) => outcome === 'failed');
}

/** Returns whether a task whose checks have these results has evidence of its own. An unknown earlier result is none. */
export function hasEvidence({ changes, noChange, baseline }: TaskWork, results: readonly CheckResult[]): boolean {
  return changes.length > 0 || noChange || turnedGreen({ baseline, results }).length > 0;
}

export function taskProof({ changes, baseline }: TaskWork, results: readonly CheckResult[]): Proof {
  return proofOf({ baseline, results, changed: changes.length > 0 ? 'yes' : 'no' });
}

/** Returns what a task's completion rests on, in one line: `red-to-green (tests failed before), 2 files changed`. */
export function proofLine(work: TaskWork, results: readonly CheckResult[]): string {
  return `${proofText(work, results)}, ${work.changes.length === 0 ? 'no file' : counted(work.changes.length, 'file')} changed`;
}

function proofText(work: TaskWork, results: readonly CheckResult[]): string {
  const proof = taskProof(work, results);
  const why: Readonly<Record<Proof, string>> = {
    'red-to-green': `${turnedGreen({ baseline: work.baseline, results }).join(', ')} failed before`,
    'still-green': 'the checks passed before as well',
    green: 'what the checks said before is unknown',
    none: work.noChange ? 'the plan says that no change is needed' : 'no check proves it',
  };
  return `${proof} (${why[proof]})`;
}
