import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Project, project } from '../support/project.ts';

const PLAIN = '---\nmax_iterations: 5\n---\nWork.\n';
const GUARDED = `---
guardrails:
  protected_files: ['.env*']
---
Work.
`;
const NO_UNDO = /^ralph-loop: There will be no undo: .*\n/m;
const start = (p: Project, task: string, env?: NodeJS.ProcessEnv) =>
  p.ralph(['start', '--task', task], env).stderr.replace(NO_UNDO, '');

test('a start by hand says that the client will not keep the guardrails of the task', (context) => {
  const p = project(context);
  p.ralph(['init']);
  p.write('plain/RALPH.md', PLAIN);
  p.write('guarded/RALPH.md', GUARDED);
  p.write('asked/RALPH.md', GUARDED);
  assert.equal(start(p, 'plain'), '');
  assert.match(start(p, 'guarded'), /This task has guardrails, .* does not enforce\. .*--launch/);
  assert.doesNotMatch(start(p, 'asked', { CLAUDECODE: '1' }), /--launch/, 'an agent starts no client');
});

test('a start by hand where no hook is installed says how to get them', (context) => {
  const p = project(context);
  p.write('plain/RALPH.md', PLAIN);
  p.write('later/RALPH.md', PLAIN);
  const warning = start(p, 'plain');
  assert.match(warning, /The hooks are not installed in this project.*Install them: ralph-loop init\./);
  assert.match(warning, /Or run without a session: ralph-loop run plain\/RALPH\.md\.$/m);
  const agent = 'echo RALPH_AUDIT_COMPLETE_NO_FINDINGS';
  assert.match(
    p.ralph(['run', 'plain/RALPH.md', '--plain', '--agent', agent]).stdout,
    /Loop plain is working on plain/,
  );
  const runners = p.ralph(['start', '--mode', 'runner', '--task', 'later']);
  assert.equal(runners.stderr.replace(NO_UNDO, ''), '', 'a runner needs no hooks in the project');
});

test('a second loop in the folder is warned of files that only one of the two protects', (context) => {
  const p = project(context);
  p.ralph(['init']);
  p.write('one/RALPH.md', GUARDED);
  p.write('alike/RALPH.md', GUARDED);
  p.write('other/RALPH.md', PLAIN);
  const warning = /The loop one works in this folder, too, and only one of the two protects \.env\*: .* --worktree\./;
  assert.doesNotMatch(start(p, 'one'), /works in this folder/);
  assert.doesNotMatch(start(p, 'alike'), /works in this folder/, 'control: both protect the same');
  assert.equal(p.ralph(['cancel', '--loop', 'alike']).code, 0);
  assert.match(start(p, 'other'), warning);
  assert.equal(p.ralph(['cancel', '--loop', 'other']).code, 0);
  assert.equal(p.ralph(['cancel', '--loop', 'one']).code, 0);
  assert.doesNotMatch(start(p, 'other'), /works in this folder/, 'control: the other loop has ended');
});
