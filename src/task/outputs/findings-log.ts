import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { DOUBTED } from '../../engine/findings/finding-status.ts';
import { type Finding, isOpen, readFindings } from '../../engine/findings/read-findings.ts';
import { goneText, unreadLogText } from '../../engine/identity/messages.ts';
import { compareOwed, type Entry } from '../../engine/identity/questions.ts';
import { isProjectFile, projectPath } from '../project-file.ts';
import { FINDINGS_LOG, FORMER_LOG } from '../settings/defaults.ts';

const NAME = 'findings log';
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_SHOWN = 20;

type FindingsText =
  | { readonly kind: 'absent'; readonly path: string }
  | { readonly kind: 'unavailable'; readonly why: string }
  | { readonly kind: 'text'; readonly path: string; readonly text: string };

/** Reads the findings log. Never throws. */
export function readFindingsLog(projectDir: string, logPath: string): FindingsText {
  const isFormer = logPath === FINDINGS_LOG && !existsSync(join(projectDir, logPath));
  const path = projectPath(projectDir, projectDir, isFormer ? FORMER_LOG : logPath);
  if (path === null) return unreadable(`${logPath} is outside the project.`);
  try {
    const stat = statSync(join(projectDir, path), { throwIfNoEntry: false });
    if (stat === undefined) return { kind: 'absent', path: logPath };
    if (!isProjectFile(projectDir, path)) return unreadable(`${path} is not a regular file inside the project.`);
    if (stat.size > MAX_BYTES) return unreadable(`${path} has ${stat.size} bytes; at most ${MAX_BYTES} are read.`);
    return { kind: 'text', path, text: readFileSync(join(projectDir, path), 'utf8') };
  } catch (error) {
    return unreadable(`${path} cannot be read: ${(error as Error).message}`);
  }
}

function unreadable(why: string): FindingsText {
  return { kind: 'unavailable', why };
}

function findingEntries(findings: readonly Finding[]): (Finding & Entry)[] {
  return findings.map((finding) => {
    const text = `${finding.id} ${finding.title}`.trim();
    return { ...finding, text, paragraph: text, isOpen: isOpen(finding) };
  });
}

/** Compares the findings that were seen open with those of the log. */
export function owedFindings(had: readonly string[], findings: readonly Finding[]) {
  return compareOwed(had, findingEntries(findings), (_, finding) => !finding.isOpen);
}

/**
 * Checks the findings log: failed while it has an open finding, or lacks one that was `owed`; unavailable if it is text
 * without a recognised entry. Returns null if there is nothing to object to.
 */
export function checkFindingsLog(projectDir: string, logPath: string, owed: readonly string[]): CheckResult | null {
  const log = readFindingsLog(projectDir, logPath);
  if (log.kind === 'unavailable') return result('unavailable', log.why);
  const { findings, isUnread } = log.kind === 'text' ? readFindings(log.text) : { findings: [], isUnread: false };
  // The agent writes this log itself: an open finding refutes a claim, but an empty log proves nothing.
  const open = findings.filter(isOpen);
  const { missing } = owedFindings(owed, findings);
  const reasons = [
    ...(open.length > 0 ? [openText(open, log.path)] : []),
    ...(missing.length > 0 ? [goneText(log.path, missing)] : []),
  ];
  if (reasons.length > 0) return result('failed', reasons.join('\n'));
  return isUnread ? result('unavailable', unreadLogText(log.path)) : null;
}

function openText(open: readonly Finding[], path: string): string {
  const shown = open.slice(0, MAX_SHOWN).map(({ id, title, status }) => {
    const label = title === '' ? id : `${id} ${title.slice(0, 100)}`;
    if (status === 'OPEN') return label;
    if (status === DOUBTED) return `${label} (unclear: write FIXED_THIS_ITERATION alone in its cell or "Status:" line)`;
    return `${label} (${status === null ? 'has no Status line' : `Status ${status} is not FIXED_THIS_ITERATION`})`;
  });
  const more = open.length > MAX_SHOWN ? `, and ${open.length - MAX_SHOWN} more` : '';
  return `${open.length} open: ${shown.join(', ')}${more} (in ${path}).`;
}

function result(outcome: 'failed' | 'unavailable', detail: string): CheckResult {
  return { name: NAME, outcome, detail, refutesOnly: true };
}
