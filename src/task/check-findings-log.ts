import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../core/events.ts';
import { openFindings } from '../core/findings-log.ts';
import { isProjectFile, projectPath } from './project-file.ts';

const NAME = 'findings log';
/** The log is read whole. */
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_SHOWN = 20;

/** Rejects while the findings log has an open finding; null where there is none: that is no check. */
export function checkFindingsLog(projectDir: string, logPath: string): CheckResult | null {
  const path = projectPath(projectDir, projectDir, logPath);
  if (path === null) return unavailable(`${logPath} lies outside the project.`);
  let text: string;
  try {
    const stat = statSync(join(projectDir, path), { throwIfNoEntry: false });
    if (stat === undefined) return null;
    if (!isProjectFile(projectDir, path)) return unavailable(`${path} is no regular file inside the project.`);
    if (stat.size > MAX_BYTES) return unavailable(`${path} has ${stat.size} bytes; at most ${MAX_BYTES} are read.`);
    text = readFileSync(join(projectDir, path), 'utf8');
  } catch (error) {
    return unavailable(`${path} cannot be read: ${(error as Error).message}`);
  }
  const open = openFindings(text);
  // The agent keeps this log itself: an open finding speaks against a claim, none speaks for it.
  if (open.length === 0) return null;
  const shown = open.slice(0, MAX_SHOWN).map(({ id, title, status }) => {
    const label = title === '' ? id : `${id} ${title.slice(0, 100)}`;
    if (status === 'OPEN') return label;
    return `${label} (${status === null ? 'has no Status line' : `Status ${status} is not FIXED_THIS_ITERATION`})`;
  });
  const more = open.length > MAX_SHOWN ? `, and ${open.length - MAX_SHOWN} more` : '';
  return { name: NAME, outcome: 'failed', detail: `${open.length} open: ${shown.join(', ')}${more} (in ${path}).` };
}

function unavailable(detail: string): CheckResult {
  return { name: NAME, outcome: 'unavailable', detail };
}
