import { join } from 'node:path';
import { DIST, type Project } from '../../support/project.ts';

export const MAIN = join(DIST, 'scripts', 'main.cjs');

/** The default task. */
export function task(p: Project, frontmatter: string, body = 'Do the work.'): void {
  p.write('.claude/ralph/PROMPT.md', `---\n${frontmatter}\n---\n${body}\n`);
}

/** An agent whose every run is this shell script; the prompt is in $prompt. */
export function agent(p: Project, script: string): string {
  p.write('agent.sh', `#!/bin/sh\nprompt=$(cat)\necho run >> runs.txt\n${script}\n`, 0o755);
  return './agent.sh';
}

/** How often that agent was started. */
export const runs = (p: Project): number => (p.has('runs.txt') ? p.read('runs.txt').split('\n').length - 1 : 0);
