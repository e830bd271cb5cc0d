import { PROGRESS_FILE } from '../settings/defaults.ts';

/** Folders of what tools make, whose changes are nobody's work. */
export const MADE_BY_TOOLS: readonly string[] = [
  '.git',
  'node_modules',
  'dist',
  'build',
  'coverage',
  '.next',
  '.turbo',
  '.cache',
];

/** What the loop keeps in every project: its state, journals and memory, and the signs that it adds. */
const OWN_FOLDER = '.claude/context/';
export const SIGNS_FILE = '.claude/ralph/guardrails.md';

/** What a loop shows of itself in its loop directory. */
const SHOWN = /^\.ralph\/[^/]+\/(?:state\.json$|events\.jsonl$|iterations\/|runs\/)/;

/** true for what the loop itself keeps in a project, relative to it: nobody's work. */
export function isLoopsOwn(path: string): boolean {
  return path === SIGNS_FILE || path.startsWith(OWN_FOLDER) || SHOWN.test(path);
}

/** true for a folder of this name wherever it lies. */
export function isLeftOutFolder(name: string): boolean {
  return MADE_BY_TOOLS.includes(name) || name.startsWith('.ralph-runner');
}

/**
 * true for a file whose change is no progress: what tools make, and the loop's own. That counts the task folder's
 * RALPH_PROGRESS.md in: the prompt tells the agent to write it each time, so that it would be progress every time. Both
 * paths are relative to the project, '' is the project itself; the folders above the task folder may be called what
 * they like.
 */
export function isLeftOut(path: string, taskDir: string): boolean {
  const prefix = taskDir === '' ? '' : `${taskDir}/`;
  const inTask = path.startsWith(prefix) ? path.slice(prefix.length) : null;
  if (inTask === PROGRESS_FILE || isLoopsOwn(path)) return true;
  return (inTask ?? path).split('/').slice(0, -1).some(isLeftOutFolder);
}
