import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { type RunFiles, runFiles } from '../../../src/state/task-folder/run-files.ts';
import { AT, aProject, type Project, put, rewrite } from './drive-project.ts';
import { startNow } from './start-now.ts';

export type TaskFolder = Project & { readonly run: RunFiles };

/** What the hooks of its client have in their environment. */
export const JOB = { RALPH_LOOP: 'job' };

/** A loop of session-1 on the task folder `job`, whose frontmatter this is. */
export function aTaskFolder(t: TestContext, frontmatter = 'max_iterations: 5'): TaskFolder {
  const project = aProject(t);
  put(join(project.directory, 'job/RALPH.md'), `---\n${frontmatter}\n---\nWork.\n`);
  startNow({
    ...{ projectDir: project.directory, name: 'job', task: 'job', flags: {}, env: project.env, at: AT },
    ...{ existing: 'refuse', headless: false, launched: false, consented: true, clientVersion: null, bundleDir: null },
    baseline: null,
  });
  const named = { ...project, files: loopFiles(project.directory, 'job', project.env) };
  rewrite(named, { sessionId: 'session-1' });
  return { ...named, run: runFiles(join(project.directory, 'job')) };
}
