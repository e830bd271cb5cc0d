import assert from 'node:assert/strict';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';

const TASK = '---\nmax_iterations: 1\n---\nWork.\n';
const AGENT = ['--agent', 'cat >/dev/null; echo Nothing came of it.'];

test('--fresh with the name of a task folder’s loop restarts that task, not the prompt file', (t) => {
  const p = project(t);
  p.write('.claude/ralph/PROMPT.md', '# Task\n');
  p.write('a/RALPH.md', TASK);
  assert.equal(p.ralph(['run', 'a', ...AGENT]).code, 2);
  assert.equal(p.ralph(['run', '--loop', 'a', '--fresh', ...AGENT]).code, 2);
  const started = p.ralph(['start', '--loop', 'a', '--fresh', '--json']);
  assert.equal(started.json['taskPath'], 'a/RALPH.md', started.stderr);
  assert.equal(p.ralph(['start', '--loop', 'other', '--fresh', '--json']).json['taskPath'], '.claude/ralph/PROMPT.md');
});

test('messages about the loop of a task folder advise commands for this loop', async (t) => {
  const p = project(t);
  p.write('a/RALPH.md', TASK);
  p.ralph(['run', 'a', ...AGENT]);
  p.ralph(['run', '--loop', 'a', '--resume', '--max-iterations', '2', ...AGENT]);
  const asked = ['status a', 'archive', 'archive --loop a', 'logs --loop a', 'explain a'];
  const shown = await peopleTerminal(t, p, asked.map((words) => `$RALPH ${words}`).join('; '));
  assert.equal(await shown.waitForExit(), 0);
  // As one line: the terminal breaks long ones.
  const text = (await shown.history()).replaceAll(/\n */g, ' ');
  assert.match(
    text,
    /Loop a ended \(no progress, [^)]* ago\): Stopped after 2 iterations, [^.]* \(progress unknown in 2\)\. .* Next: \S.* resume a --max-iterations 4/,
  );
  assert.doesNotMatch(text, /main\.cjs start --resume/);
  assert.equal(text.match(/no-progress-exhaustion\.json/g)?.length, 4, 'archive alone shows the last loop');
});
