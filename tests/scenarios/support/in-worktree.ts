import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { commitFolder } from '../../support/git.ts';
import { type Answer, type Project, project } from '../../support/project.ts';

/** A repository with one commit: a task folder `jobs/fix`, a source file. */
export function repository(t: TestContext): Project {
  const p = project(t);
  p.write(
    'jobs/fix/RALPH.md',
    `---\nmax_iterations: 3\ncompletion_promise: DONE\ncompletion_gate: disabled\n---\nFix it.\n`,
  );
  p.write('src/a.txt', 'one\n');
  p.write('agent.sh', '#!/bin/sh\ncat > prompt.txt\n. ./do.sh\n', 0o755);
  p.write(
    'do.sh',
    'echo done > src/b.txt; git add src/b.txt; git commit -qm "Add b"; echo "<promise>DONE</promise>"\n',
  );
  commitFolder(p.dir);
  return p;
}

export function run(p: Project, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Answer {
  return p.ralph(['run', 'jobs/fix', '--worktree', '--agent', './agent.sh', ...args], env);
}

export const tree = (p: Project, path = ''): string => join(p.dir, '.ralph/worktrees/fix', path);
