import { GUARDRAILS, PROGRESS_FILE } from './task-file.ts';

export const MADE_BY_TOOLS: readonly string[] = '.git node_modules dist build coverage .next .turbo .cache'.split(' ');

const OWN_FOLDER = '.claude/context/';

/** Pattern for the status projection of a loop directory. */
const SHOWN = /^\.ralph\/[^/]+\/(?:(?:state|proof)\.json$|events\.jsonl$|iterations\/|runs\/)/;
/** Matches folders only, as in git's patterns: a file whose name begins like this is the agent's. */
const RUNNERS = /(?:^|\/)\.ralph-runner[^/]*\//;

/** Pathspecs that exclude what `isLoopsOwn` names. */
export const WITHOUT_OWN: readonly string[] = [
  GUARDRAILS,
  `${OWN_FOLDER}**`,
  '**/.ralph-runner*/**',
  ...['state.json', 'proof.json', 'events.jsonl', 'iterations/**', 'runs/**'].map((name) => `.ralph/*/${name}`),
].map((glob) => `:(exclude,glob)${glob}`);

export function isLoopsOwn(path: string): boolean {
  return path === GUARDRAILS || path.startsWith(OWN_FOLDER) || SHOWN.test(path) || RUNNERS.test(path);
}

export function isLeftOutFolder(name: string): boolean {
  return MADE_BY_TOOLS.includes(name) || name.startsWith('.ralph-runner');
}

/** Returns whether a change is not progress: generated files and the loop's own. Folders above the task folder do not count. */
export function isLeftOut(path: string, taskDir: string): boolean {
  const prefix = taskDir === '' ? '' : `${taskDir}/`;
  const inTask = path.startsWith(prefix) ? path.slice(prefix.length) : null;
  if (inTask === PROGRESS_FILE || isLoopsOwn(path)) return true;
  return (inTask ?? path).split('/').slice(0, -1).some(isLeftOutFolder);
}
