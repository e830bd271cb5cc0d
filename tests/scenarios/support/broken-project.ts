import type { TestContext } from 'node:test';
import { commitFolder } from '../../support/git.ts';
import { project } from '../../support/project.ts';
import { type GhIssue, type Pull, withGh } from './gh-stand-in.ts';

export const ISSUE: GhIssue = { number: 7, title: 'sum is wrong', body: 'sum(2, 3) gives -1.', labels: ['ralph'] };
export const FIX = "sed -i 's/a - b/a + b/' sum.cjs\ngit commit -qam 'Fix it'\n";

/** Runs the test without npm and without a process for each file: most of what a test of an issue would cost. */
const NPM = `#!/bin/sh\nexec '${process.execPath}' sum.test.cjs\n`;

/** A project whose test fails, a remote, and an agent that does this. */
export function broken(t: TestContext, issues: readonly GhIssue[], work = FIX, pulls: readonly Pull[] = []) {
  const p = project(t);
  p.write('package.json', { scripts: { test: 'node --test' } });
  p.write('sum.cjs', 'module.exports = (a, b) => a - b;\n');
  p.write(
    'sum.test.cjs',
    "require('node:test').test('adds', () => require('node:assert').equal(require('./sum.cjs')(2, 3), 5));\n",
  );
  p.write('agent.sh', `#!/bin/sh\ncat > "$HOME/prompt"\n${work}echo "<promise>DONE</promise>"\n`, 0o755);
  commitFolder(p.dir);
  p.sh('git init -q --bare ../remote.git && git remote add origin ../remote.git');
  const gh = withGh(p, issues, pulls);
  p.write('../bin/npm', NPM, 0o755);
  const run = (words: readonly string[], more: NodeJS.ProcessEnv = {}) =>
    p.ralph(['run', ...words, '--agent', './agent.sh', '--yes'], { ...gh.env, ...more });
  /** Only drafts the task of issue 7, which no user has read then. */
  const draft = (more: NodeJS.ProcessEnv = {}) =>
    p.ralph(['run', '--issue', '7', '--agent', './agent.sh'], { ...gh.env, ...more });
  return { p, gh, run, draft };
}
